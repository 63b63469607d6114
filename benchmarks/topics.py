"""Texts with a known answer for `method: embedding`, which is to tell topics: what was on file, the same
topic in other words, and another topic in many of the same words. Written before any model was asked these,
and not changed since."""

TOPICS = [
    (
        "The bank raised its interest rates again.",
        "Borrowing money has become more expensive.",
        "He sat on the bank of the river, full of interest.",
    ),
    (
        "Our flight was cancelled because of fog.",
        "The plane could not take off in the bad weather.",
        "The flight of stairs was closed because of repairs.",
    ),
    (
        "My password does not work any more.",
        "I am unable to sign in to my account.",
        "My washing machine does not work any more.",
    ),
    (
        "The patient complains of a headache.",
        "She says that her head hurts.",
        "The customer complains of a late delivery.",
    ),
    (
        "Add two eggs and stir until smooth.",
        "Mix the batter with a pair of eggs until there are no lumps.",
        "Add two users and wait until the page is refreshed.",
    ),
    (
        "The team won the final on penalties.",
        "After the shoot-out they were the champions.",
        "The company paid the final penalties to the tax office.",
    ),
    (
        "Where can I park my car?",
        "Is there a place nearby to leave a vehicle?",
        "Where can I walk in the park?",
    ),
    (
        "The phone's battery drains quickly.",
        "My mobile has to be charged several times a day.",
        "The artillery battery moved quickly.",
    ),
    (
        "The server ran out of memory and crashed.",
        "The process was killed because too much RAM was in use.",
        "The waiter ran out with the drinks, and the server lost his memory of the order.",
    ),
    (
        "The landlord refuses to repair the heating.",
        "Our flat is cold, and its owner will not have the radiators mended.",
        "The landlord refuses to serve beer after ten.",
    ),
    (
        "The vaccine protects against measles.",
        "After the jab children do not catch this disease.",
        "The firewall protects against intruders.",
    ),
    (
        "The court found him guilty of theft.",
        "The judge convicted the burglar.",
        "He found a new tennis court behind the house.",
    ),
    (
        "How do I get my money back?",
        "I would like a refund for this purchase.",
        "How do I get my hair back to its colour?",
    ),
    (
        "The violin is a little out of tune.",
        "One of the strings of the instrument sounds flat.",
        "The engine of the car is a little out of tune.",
    ),
    (
        "The glacier has shrunk by half in fifty years.",
        "Much of the ice in the mountains has melted since the seventies.",
        "The shirt has shrunk by half in the wash.",
    ),
    (
        "The pupils did badly in the maths exam.",
        "Most of the class failed the test on fractions.",
        "The pupils of her eyes are wide after the exam.",
    ),
    (
        "Unemployment fell for the third month.",
        "More people have found jobs since spring.",
        "Rain fell for the third day of the month.",
    ),
    (
        "Please do not feed the ducks.",
        "Visitors are asked not to give bread to the birds.",
        "Please do not feed the paper into the printer.",
    ),
    (
        "The seeds should be sown in April.",
        "Plant them in the ground in spring.",
        "The seeds of the tournament are drawn in April.",
    ),
    (
        "He broke his leg while skiing.",
        "A fall on the slopes left him with a fracture.",
        "He broke the record on the last leg of the race.",
    ),
    (
        "The pull request was merged into main.",
        "The change is on the trunk now.",
        "The two companies were merged on request of the main owner.",
    ),
    (
        "The query takes ten seconds without an index.",
        "Looking rows up is slow, as the whole table is scanned.",
        "The share index fell within ten seconds.",
    ),
    (
        "The museum is closed on Mondays.",
        "You cannot visit the exhibition at the beginning of the week.",
        "The deal was closed on Monday.",
    ),
    (
        "Our dog barks at the postman.",
        "The puppy makes a lot of noise when letters are delivered.",
        "The bark of our tree was cut off by the postman.",
    ),
    (
        "The film was far too long and boring.",
        "I nearly fell asleep in the cinema.",
        "The film of oil on the water was far too long to be cleaned up.",
    ),
    (
        "The recipe asks for a pinch of salt.",
        "Season the dish lightly.",
        "Take what the salesman asks for with a pinch of salt.",
    ),
    (
        "They want to get married in June.",
        "The wedding is planned for early summer.",
        "They want to get the invoices paid in June.",
    ),
    ("The printer is jammed.", "A sheet of paper is stuck in the device.", "The motorway is jammed."),
    (
        "The president resigned after the scandal.",
        "The head of state stepped down over the affair.",
        "The president of the club praised the team after the match.",
    ),
    (
        "Sea levels are rising faster than expected.",
        "The ocean will flood the coast earlier than was thought.",
        "House prices are rising faster than expected.",
    ),
]
