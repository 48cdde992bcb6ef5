"""Closed lists of English words, and names of countries and states, that the answer rules go by; no rules here."""


def words(text: str) -> tuple[str, ...]:
    """The words of a list."""
    return tuple(text.split())


ONES = words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
SMALL_NUMBERS = {word: value for value, word in enumerate(ONES)}
TENS_VALUES = {word: 20 + 10 * step for step, word in enumerate(TENS)}
SMALL_ORDINALS = {word: value for value, word in enumerate(ORDINALS, start=1)}
SMALL_ORDINALS |= {word.removesuffix("y") + "ieth": value for word, value in TENS_VALUES.items()}
MONTHS = words("january february march april may june july august september october november december")

QUESTION_WORDS = frozenset(words("who whom whose what which when where why how"))
AUXILIARIES = frozenset(words("is are was were do does did can could has have had will would should may might must"))

COPULAS = frozenset(words("is was are were"))
VERBS = COPULAS | frozenset(
    words(
        "has had have did does do became become becomes won wins wrote writes made makes led leads sang sings began "
        "came comes went gave held holds took takes built lost left bought sold met ran runs fought rose fell knew saw "
        "died played plays lives lies stands means refers can could will would should may might must be been"
    )
)
PREPOSITIONS = frozenset(words("in on at by to from with as about named called into near"))
"""What may stand right before an answer."""
BOUNDARIES = frozenset(
    words(
        "in on at from during with for since until after before who whom which that where when because while as "
        "although though so than via through under over between"
    )
)
"""What ends the phrase before it."""
NEGATIONS = frozenset(
    words(
        "not no never neither nor none cannot cant without unlike except instead rather unlikely false incorrect wrong "
        "isnt wasnt arent werent doesnt didnt dont hasnt hadnt havent wont wouldnt couldnt shouldnt"
    )
)
FILLERS = frozenset(words("called named likely probably most actually simply located known as"))
"""What may stand between "is" and the answer."""
PRONOUNS = frozenset(words("it he she they this that there we i you both one these those who what neither"))

HONORIFICS = frozenset(words("mr mrs ms dr prof professor sir dame rev reverend"))
"""Dropped from the front of a full name."""
TITLES = frozenset(
    words(
        "king queen prince princess pope emperor empress president saint st lord lady general captain colonel senator "
        "governor chancellor duke duchess count sultan tsar"
    )
)
"""May be left out in front of a full name, unless two titles contradict each other."""


_COUNTRIES = """
Afghanistan|Albania|Algeria|Andorra|Angola|Argentina|Armenia|Australia|Austria|Azerbaijan|Bahamas|Bahrain|Bangladesh
Barbados|Belarus|Belgium|Belize|Benin|Bhutan|Bolivia|Bosnia and Herzegovina|Botswana|Brazil|Brunei|Bulgaria
Burkina Faso|Burundi|Cambodia|Cameroon|Canada|Cape Verde|Chad|Chile|China|Colombia|Comoros|Congo|Costa Rica|Croatia
Cuba|Cyprus|Czech Republic|Czechia|Denmark|Djibouti|Dominican Republic|Ecuador|Egypt|El Salvador|Eritrea|Estonia
Eswatini|Ethiopia|Fiji|Finland|France|Gabon|Gambia|Georgia|Germany|Ghana|Greece|Greenland|Grenada|Guatemala|Guinea
Guyana|Haiti|Honduras|Hungary|Iceland|India|Indonesia|Iran|Iraq|Ireland|Israel|Italy|Ivory Coast|Jamaica|Japan|Jordan
Kazakhstan|Kenya|Kosovo|Kuwait|Kyrgyzstan|Laos|Latvia|Lebanon|Lesotho|Liberia|Libya|Liechtenstein|Lithuania|Luxembourg
Madagascar|Malawi|Malaysia|Maldives|Mali|Malta|Mauritania|Mauritius|Mexico|Moldova|Monaco|Mongolia|Montenegro|Morocco
Mozambique|Myanmar|Namibia|Nepal|Netherlands|New Zealand|Nicaragua|Niger|Nigeria|North Korea|North Macedonia|Norway|Oman
Pakistan|Palestine|Panama|Papua New Guinea|Paraguay|Peru|Philippines|Poland|Portugal|Puerto Rico|Qatar|Romania|Russia
Rwanda|Samoa|San Marino|Saudi Arabia|Senegal|Serbia|Seychelles|Sierra Leone|Singapore|Slovakia|Slovenia|Somalia
South Africa|South Korea|South Sudan|Soviet Union|Spain|Sri Lanka|Sudan|Suriname|Sweden|Switzerland|Syria|Taiwan
Tajikistan|Tanzania|Thailand|Togo|Tonga|Trinidad and Tobago|Tunisia|Turkey|Turkmenistan|Uganda|Ukraine
United Arab Emirates|UAE|Uruguay|Uzbekistan|Venezuela|Vietnam|Yemen|Zambia|Zimbabwe
United Kingdom|UK|Great Britain|England|Scotland|Wales|Northern Ireland
United States|United States of America|USA|US
"""
_STATES = """
Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Hawaii|Idaho|Illinois|Indiana|Iowa
Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada
New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island
South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia|Wisconsin|Wyoming
"""
PLACES = frozenset(name.strip() for name in f"{_COUNTRIES}|{_STATES}".replace("\n", "|").split("|") if name.strip())
