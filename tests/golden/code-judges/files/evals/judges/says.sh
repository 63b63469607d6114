# Prints what the answer asks it to print.
told=$(cat)
case $told in
  *'"candidate_answer":"well"'*) echo '{"score": 1, "hits": ["all of it"]}';;
  *'"candidate_answer":"nearly"'*) echo '{"score": 0.7, "misses": ["no title"]}';;
  *'"candidate_answer":"badly"'*) echo '{"score": 0.2, "misses": ["no title", "no author"]}';;
  *'"candidate_answer":"crash"'*) echo '{"score": 0, "misses": ["no such file: x.csv"]}'; exit 1;;
  *'"candidate_answer":"twice"'*) echo '{"score": 1}'; echo '{"score": 0}';;
  *'"candidate_answer":"percent"'*) echo '{"score": 85}';;
  *) echo 'all good';;
esac
