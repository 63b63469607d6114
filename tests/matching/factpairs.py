"""Pairs of texts with a known answer: the stored text, the one that came, and whether both state the same.

Written for this suite; no two are taken from a published set."""


def pairs(text: str) -> list[tuple[str, str]]:
    """One pair a line, its texts parted by a bar."""
    return [
        (before, after) for before, _, after in (line.partition(" | ") for line in text.split("\n") if line)
    ]


KEPT = pairs("""
The request succeeded. | The request was successful.
Your order will arrive on Monday. | You will receive your order on Monday.
Please restart the server after the update. | After the update, please restart the server.
The invoice is attached to this e-mail. | Attached to this e-mail you will find the invoice.
We could not find a user with that name. | No user with that name was found.
Our office opens at nine and closes at five. | We are open from nine to five.
The battery lasts about ten hours. | You get roughly ten hours out of the battery.
Ada wrote the first program. | The first program was written by Ada.
Sorry for the delay; your parcel is on its way. | Your parcel is on its way. We apologise for the delay.
The file was deleted by mistake. | Someone deleted the file accidentally.
It rained all day in Paris. | In Paris it rained the whole day.
The meeting has been moved to Friday. | We rescheduled the meeting; it is on Friday now.
Press the red button to stop the machine. | To stop the machine, press the red button.
The password has to have at least 12 characters. | At least 12 characters are required for the password.
Sales rose by 4% in the second quarter. | In the second quarter sales went up 4%.
Only administrators can change this setting. | This setting can be changed by administrators only.
The library is free of charge. | The library costs nothing.
He lives in Berlin and works as a nurse. | He works as a nurse and lives in Berlin.
The train leaves at 8:15 from platform 4. | From platform 4 the train departs at 8:15.
Keep the device away from water. | Do not let the device get wet.
There are three open tickets. | 3 tickets are open.
Thank you for your patience! | Thanks for your patience.
The mill stood still because there was no wind. | As there was no wind, the mill stood still.
You can cancel at any time. | You can cancel at any time you like.
""")
"""Worded otherwise, and the same is stated."""
CHANGED = {
    "number": pairs("""
The refund is 40 dollars. | The refund is 45 dollars.
There are three open tickets. | There are four open tickets.
The trial lasts 30 days and then ends by itself. | The trial lasts 14 days and then ends by itself.
About half of the users answered the survey. | About a third of the users answered the survey.
He called twice before he wrote the letter. | He called once before he wrote the letter.
The price doubled within a year of the launch. | The price tripled within a year of the launch.
"""),
    "unit": pairs("""
The parcel weighs 5 kg. | The parcel weighs 5 g.
The timeout is 30 seconds for each request. | The timeout is 30 minutes for each request.
The trip costs 200 euros per person. | The trip costs 200 dollars per person.
The disk holds 2 TB of data. | The disk holds 2 GB of data.
Take two tablets a day with some water. | Take two tablets a week with some water.
"""),
    "name": pairs("""
The package was signed for by Anna Berg at the door. | The package was signed for by Anna Burg at the door.
The conference takes place in Lisbon this year. | The conference takes place in Madrid this year.
Please contact Maria about the invoice. | Please contact Peter about the invoice.
The service is written in Rust and runs on Linux. | The service is written in Java and runs on Linux.
Turn left at the church and follow the river. | Turn left at the school and follow the river.
The cat broke the blue vase in the hall. | The dog broke the blue vase in the hall.
"""),
    "negation": pairs("""
The drug is safe during pregnancy. | The drug is not safe during pregnancy.
You may share this report with customers. | You may never share this report with customers.
The warranty covers water damage. | The warranty excludes water damage.
All tests passed on the first run. | All tests failed on the first run.
The feature is available to free accounts. | The feature is unavailable to free accounts.
The order can be cancelled after it was shipped. | The order can hardly be cancelled after it was shipped.
"""),
    "direction": pairs("""
Sales rose sharply in the last quarter. | Sales fell sharply in the last quarter.
Save your work before you close the window. | Save your work after you close the window.
The new version is faster than the old one. | The old version is faster than the new one.
Move the money from savings to checking. | Move the money from checking to savings.
The left valve must be opened first. | The right valve must be opened first.
The patient should increase the dose slowly. | The patient should decrease the dose slowly.
Ada paid Ben for the repair of the roof. | Ben paid Ada for the repair of the roof.
"""),
    "scope": pairs("""
All users must change their password today. | Some users must change their password today.
Only administrators can see the audit log. | Even administrators can see the audit log.
The offer is valid in every shop. | The offer is valid in one shop.
You must encrypt the backup. | You may encrypt the backup.
The bug always shows on older phones. | The bug sometimes shows on older phones.
"""),
    "date": pairs("""
The contract ends on 3 May. | The contract ends on 3 June.
The shop is closed on Mondays. | The shop is closed on Sundays.
The report is due tomorrow at noon. | The report is due today at noon.
The bridge was opened in 1932. | The bridge was opened in 1923.
"""),
    "omitted": pairs("""
Mix the powder with water and wait, then wear gloves and apply it. | Mix the powder with water and wait, then apply it.
Returns are free within the country. | Returns are free.
Restart the router, then call us if it still blinks red. | Restart the router.
The service is free for students until summer. | The service is free for students.
"""),  # noqa: E501
    "added": pairs("""
Your account has been created. | Your account has been created and charged.
The flight is on time. | The flight is on time, but the gate has changed.
The doctor is in today. | The doctor is in today for emergencies only.
We deliver to all addresses in town. | We deliver to all addresses in town for a small fee.
"""),
}
"""One fact is another, missing or new."""
REGRESSIONS = [(kind, *pair) for kind, found in CHANGED.items() for pair in found]
UNSEEN = pairs("""
The pump runs at 40 psi when the tank is full. | The pump runs at 40 bar when the tank is full.
Boil the eggs for six minutes and cool them. | Fry the eggs for six minutes and cool them.
The concert was sold out within an hour. | The concert was called off within an hour.
Guests must leave their coats at the desk. | Guests must leave their phones at the desk.
The bridge is closed to trucks. | The bridge is closed to buses.
Our support team answers in English. | Our support team answers in French.
The study found a strong link between sleep and memory. | The study found a weak link between sleep and memory.
The company hired its founder's brother. | The company sued its founder's brother.
Water the plants whenever the soil is dry. | Water the plants whenever the soil is wet.
The museum is open to members. | The museum is open to members and guests.
The update fixes the crash on start. | The update causes the crash on start.
The tenant pays for repairs. | The landlord pays for repairs.
The vaccine is approved for adults. | The vaccine is approved for children.
Store the milk in the fridge. | Store the milk in the cupboard.
Payment is due within a fortnight. | Payment is due within a month.
Call the nurse if the pain gets worse. | Call the nurse if the pain gets better.
The key opens the cellar door. | The key opens the attic door.
Her flight lands shortly past midnight. | Her flight lands shortly past noon.
The judge upheld the fine. | The judge overturned the fine.
The cake contains nuts. | The cake contains eggs.
""")  # noqa: E501
"""Changed facts that were written after the rules were: they are counted, and no rule is made for them."""
