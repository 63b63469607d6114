"""Pairs of sentences whose words differ in a way that a rule takes for another fact: those that tell the
same, and those that do not. Only a reader can tell which; so a judge is asked about each of them."""

SAME: dict[str, list[tuple[str, str]]] = {
    "number": [
        ("The refund is 1,000 dollars.", "The refund is 1000 dollars."),
        ("A dozen eggs are in the box.", "There are 12 eggs in the box."),
        ("The rate rose by 50%.", "The rate rose by half."),
        ("Chapter IV explains it.", "It is explained in chapter 4."),
        ("The hall seats 1.5 thousand people.", "1500 people can sit in the hall."),
    ],
    "unit": [
        ("The run is 5 km long.", "The run is 5000 m long."),
        ("The trial lasts two weeks.", "The trial lasts 14 days."),
        ("The timeout is 90 seconds.", "It times out after a minute and a half."),
        ("Water boils at 100 °C.", "Water boils at 212 °F."),
    ],
    "date": [
        ("The shop opens at 3 pm.", "The shop opens at 15:00."),
        ("It is due on 2024-05-01.", "It is due on 1 May 2024."),
        ("They met on Christmas Eve.", "They met on 24 December."),
        ("Pay by the last day of June.", "Payment is due by 30 June."),
    ],
    "name": [
        ("The author lives in New York City.", "The author lives in NYC."),
        ("It was signed by John F. Kennedy.", "It was signed by President Kennedy."),
        ("The talks were held in the Netherlands.", "The talks took place in Holland."),
        ("The film is shown in the United Kingdom.", "The film is shown in Britain."),
    ],
    "negation": [
        ("The library is closed on Sundays.", "On Sundays the library does not open."),
        ("It is not impossible to repair.", "It can be repaired."),
        ("He failed the exam.", "He did not pass the exam."),
        ("Nobody was hurt.", "There were no injuries, and none was reported."),
        ("You cannot park here.", "Parking here is prohibited."),
    ],
    "scope": [
        ("All guests must sign.", "No guest may leave out the signature."),
        ("Only members can vote.", "Voting is for members and for no others."),
        ("Each pupil gets a book.", "Every pupil receives a book."),
    ],
    "direction": [
        ("Sales fell last year.", "Sales were lower last year than before."),
        ("The door must be opened before the window.", "Open the window after the door."),
        ("Ada sold the car to Ben.", "Ben bought the car from Ada."),
    ],
    "identifier": [
        ("Call `find_user` first.", "First call the function find_user."),
        ("The file is README.md.", "The file is called `README.md`."),
        ("Use the GET/POST methods.", "Use the methods GET and POST."),
    ],
}

OTHER: dict[str, list[tuple[str, str]]] = {
    "number": [
        ("The refund is 40 dollars.", "The refund is 45 dollars."),
        ("There are three open tickets.", "There are four open tickets."),
        ("The hall seats 1.5 thousand people.", "The hall seats 15 thousand people."),
    ],
    "unit": [
        ("The parcel weighs 5 kg.", "The parcel weighs 5 g."),
        ("The timeout is 30 seconds.", "The timeout is 30 minutes."),
        ("It costs 200 euros.", "It costs 200 dollars."),
        ("The disk holds 2 TB.", "The disk holds 2 GB."),
    ],
    "date": [
        ("The contract ends on 3 May.", "The contract ends on 3 June."),
        ("The shop opens at 3 pm.", "The shop opens at 3 am."),
        ("The report is due tomorrow.", "The report is due today."),
        ("The bridge was opened in 1932.", "The bridge was opened in 1923."),
    ],
    "name": [
        ("The package was signed for by Anna Berg.", "The package was signed for by Anna Burg."),
        ("The talks were held in Lisbon.", "The talks were held in Madrid."),
        ("Please write to Maria about it.", "Please write to Peter about it."),
    ],
    "negation": [
        ("You may share this report.", "You may not share this report."),
        ("The drug is safe.", "The drug is never safe."),
        ("The tests passed.", "The tests failed."),
    ],
    "scope": [
        ("All users must change it.", "Some users must change it."),
        ("You must encrypt the backup.", "You may encrypt the backup."),
        ("The bug always shows.", "The bug sometimes shows."),
        ("The offer is valid in every shop.", "The offer is valid in one shop."),
    ],
    "direction": [
        ("Sales rose sharply.", "Sales fell sharply."),
        ("Save it before you close it.", "Save it after you close it."),
        ("Turn left at the church.", "Turn right at the church."),
        ("Move it from savings.", "Move it to savings."),
    ],
    "identifier": [
        ("Call `find_user` first.", "Call `find_users` first."),
        ("Open /etc/hosts and save it.", "Open /etc/passwd and save it."),
        ("The flag is isReady here.", "The flag is isDone here."),
        ("Order A17 was sent.", "Order A18 was sent."),
    ],
}

PAIRS = [
    (kind, is_same, *pair)
    for is_same, table in ((True, SAME), (False, OTHER))
    for kind, pairs in table.items()
    for pair in pairs
]
