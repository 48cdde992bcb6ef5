"""Sentences of the world's pages and search queries, all our own; which of them are true is decided elsewhere."""

# A page's own words about itself: {name}, {noun} with its article, {bare} without, {context} that parts namesakes.
LEADS = (
    "{name} is {noun} {context}.",
    "{name}, {noun} {context}, has a page of its own here.",
    "The name {name} stands for {noun} {context}.",
)
BARE_LEADS = ("{name} is {noun}.", "{name}, {noun}, has a page of its own here.", "The name {name} stands for {noun}.")
PUBLICATIONS = ("{a} Gazetteer", "{a} Almanac", "Annals of {a}", "{a} Letters")
TELLING = (
    "The {bare} meant here is the one {context}.",
    "This concerns the {bare} {context}, not another of that name.",
)
CURRENT_NOTES = ("This page was revised in {recent}.", "The entry was compared with the register in {recent}.")
OUTDATED_NOTES = ("This page was last revised in {past}.", "The entry has not been looked at since {past}.")
CURRENT_DATES = ("As of {recent}: ", "State of {recent}. ")
OUTDATED_DATES = ("As of {past}: ", "State of {past}. ")

# Sentences that answer nothing; {name}, {place} and numbers {n}, {year}.
ASIDES = (
    "Visitors ask for {name} on most days of the summer.",
    "A footpath of {n} steps leads past it to the old market.",
    "The local paper of {year} gave it {n} lines.",
    "Children in the area learn a rhyme about {name}.",
    "In the winter of {year} the road was closed for {n} days.",
    "A collection of {n} letters on the matter is kept in a chest.",
    "The weather station counted {n} days of rain in {year}.",
    "An inn near by serves plum cake after a recipe of {year}.",
    "Nobody has counted the {n} lanterns of the autumn feast twice.",
    "A drawing from {year} shows {name} with {n} lime trees.",
    "The archive lent {n} boxes to the town school in {year}.",
    "Two essays of {year} mention {name} on {n} pages.",
    "The spelling of {name} has changed little since {year}.",
    "A donation of {n} coins was recorded in {year}.",
    "The bell rings {n} times on the first day of May.",
    "A later owner added {n} shelves and a stove.",
)

REGISTER_TITLES = ("Register: {name}", "{name} in the yearbook", "Index of names: {name}")
ASIDE_TITLES = ("Roads of {place}", "Festivals of {place}", "Weather in {place}", "Cooking in {place}", "{place}")

# Queries, in the order in which agents like them. {name}, {topic}, {place}.
PLACED_QUERIES = (
    "{name} {place} {topic}",
    "{topic} of {name} {place}",
    "{name} ({place}) {topic}",
    "{topic} {name} in {place}",
    "{name} {place}",
    "{place} {name} {topic} register",
    "find the {topic} of {name}, {place}",
    "{place} {topic} {name}",
)
BARE_QUERIES = (
    "{name} {topic}",
    "{topic} of {name}",
    "what is the {topic} of {name}",
    "{name}",
    "{name} who or what is its {topic}",
    "{topic} {name} history",
    "about {name} and its {topic}",
    "{name} {topic} source",
)

HOSTS = ("atlas.example", "almanac.example", "gazette.example", "lexicon.example", "notebook.example")
