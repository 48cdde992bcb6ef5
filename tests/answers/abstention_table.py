"""Answers that say nothing and answers that only look so, written by hand, with a question where it decides."""


def _rows(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.splitlines()))


ABSTENTIONS: dict[str, tuple[str, ...]] = {
    "none": ("", " ", "-", "--", "???", "...", "**", "N/A", "n/a", "N.A.", "NA", "NaN", "null", "NULL"),
    "English": _rows(
        """
unknown
Unknown.
**Unknown**
UNKNOWN
The answer is unknown.
I don't know
I do not know.
I really don't know
I don’t know the answer to this question.
Don't know
idk
No answer
[No Prediction]
No idea.
not specified
Not specified in the passages
Not provided in the passage.
Not applicable (N/A)
Cannot be determined
It cannot be determined from the documents.
The answer could not be verified.
I could not find the answer.
I couldn't find the name of the producer.
I was unable to find any information about his birth.
I'm sorry, but I can't answer this question.
Sorry, I could not determine it.
Unable to find the answer
Insufficient information.
not enough information
There is not enough information to answer the question.
no information provided
No information provided about a player born in 1981.
The passages do not mention the director.
The provided documents don't contain this information.
I don't have the answer.
I don't have enough information to answer.
Based on the provided passages, it is not possible to determine it.
None of the provided passages mention a song by her.
Unfortunately, there is no information about this.
Unable to determine. Further searches are needed.
not answered
not possible
Undetermined
The birth date of his mother is not mentioned in the given passages.
The passage does not give the date. Therefore, the question cannot be answered.
Her birthplace is not specified
I have no idea
I am not sure.
unclear
No results found
After extensive searching, I was not able to identify the author.
It's not clear.
Unknown based on the available information
Information not found
"""
    ),
    "German": _rows(
        """
unbekannt
Das ist leider nicht bekannt.
Ich weiß es nicht.
Das weiß ich nicht
Keine Angabe
Keine Informationen gefunden
Die Antwort lässt sich nicht feststellen.
nicht angegeben
Leider konnte ich keine Antwort finden, ich habe keine Informationen dazu.
Ich konnte die Antwort nicht finden.
Es gibt keine Informationen darüber.
Das Geburtsdatum wird nicht erwähnt.
Keine Ahnung!
"""
    ),
    "French": _rows(
        """
inconnu
Je ne sais pas.
Je n'ai pas trouvé la réponse.
Aucune information disponible
non spécifié
Impossible de déterminer la date.
Désolé, mais je ne peux pas répondre.
Les documents fournis ne mentionnent pas le réalisateur.
La réponse n'est pas connue.
Il n'y a pas assez d'informations.
"""
    ),
    "Spanish": _rows(
        """
desconocido
No lo sé.
No sé
No se puede determinar.
No hay información suficiente
sin respuesta
No pude encontrar la respuesta.
Lo siento, pero no puedo responder a esta pregunta.
Los documentos no mencionan al director.
La fecha no se especifica.
no disponible
"""
    ),
    "Italian": _rows(
        """
sconosciuto
Non lo so.
Non ho trovato informazioni.
Non è possibile determinare la risposta.
Mi dispiace, ma non posso rispondere.
non specificato
Il nome non è menzionato.
Nessuna risposta
"""
    ),
    "Portuguese": _rows(
        """
desconhecido
Não sei.
Não foi possível encontrar a resposta.
Não há informações suficientes.
não especificado
Infelizmente, não consegui encontrar a data.
Os documentos não mencionam o autor.
"""
    ),
    "Dutch": _rows(
        """
onbekend
Ik weet het niet.
Geen antwoord gevonden
niet bekend
Er is onvoldoende informatie.
Helaas kan het antwoord niet worden bepaald.
De datum wordt niet vermeld.
Geen idee
"""
    ),
    "Russian": _rows(
        """
неизвестно
Я не знаю.
Не знаю
Нет данных
Информация отсутствует
К сожалению, не удалось найти ответ.
Недостаточно информации для ответа.
Дата рождения неизвестна.
не указано
"""
    ),
    "Chinese": _rows(
        """
未知
不知道
我不知道。
无法确定
根据提供的信息，无法确定答案。
没有找到相关信息
文中未提及。
信息不足
抱歉，我无法回答这个问题。
無法確定
"""
    ),
    "Japanese": _rows(
        """
不明
わかりません
分かりません。
申し訳ありませんが、わかりません。
情報が見つかりませんでした。
該当なし
提供された文書からは特定できません。
記載されていません
"""
    ),
    "Korean": _rows(
        """
알 수 없음
모르겠습니다.
정보를 찾을 수 없습니다.
답변할 수 없습니다
미상
문서에 언급되지 않았습니다.
"""
    ),
    "Arabic": _rows(
        """
غير معروف
لا أعرف
لا أعلم.
لا توجد معلومات كافية
لم أتمكن من العثور على الإجابة.
غير محدد
"""
    ),
    "Hindi": _rows(
        """
अज्ञात
पता नहीं
मुझे नहीं पता।
जानकारी उपलब्ध नहीं है।
इस प्रश्न का उत्तर नहीं दिया जा सकता।
"""
    ),
    "Turkish": _rows(
        """
bilinmiyor
Bilmiyorum.
Cevap bulunamadı
Bu konuda yeterli bilgi yok.
Maalesef cevabı bulamadım.
Belirtilmemiş
İsmi bilinmiyor.
"""
    ),
    "Polish": _rows(
        """
nieznany
Nie wiem.
brak danych
Nie udało się znaleźć odpowiedzi.
Niestety nie mogę odpowiedzieć.
nie podano
Data jego urodzenia nie jest znana.
Brak informacji na ten temat.
"""
    ),
}
"""By language; none of them answers anything."""

WITH_A_QUESTION = (
    ("None", "Who directed the film?"),
    ("none.", "In what city was he born?"),
    ("None", "Which actor starred in it?"),
    ("Unknown", "Which film did he direct in 1990?"),
    ("not found", "What is the name of the album?"),
    ("unknown", "How many films did she make?"),
    ("I don't know.", "Is Rome larger than Paris?"),
    ("cannot be determined", "Was he older than his brother?"),
)
"""Say nothing in reply to the question."""

ANSWERS = _rows(
    """
Unknown Pleasures
The Unknown
Unknown Mortal Orchestra
The Unknown Soldier
N/A Records
Na
Nan
Null Island
No Idea Records
No One Knows
Nobody
Nothing
Nobody Knows
no
No.
No, it is not.
none
None
zero
0
neither
Neither of them
both
No Country for Old Men
No Answer Needed
Don't Know Why
Sorry
Answer
Not Fade Away
Not Giving In
Noah
Norway
Nottingham
Nan Province
I Know What You Did Last Summer
I'm Not There
I Can't Help Myself
The Girl Can't Help It
Without Me
The Man Who Knew Too Much
Impossible
Mission: Impossible
The Invisible Man
Missing
Lost
Undefined by Law
The sources do not say, but it is most likely Paris.
I could not find it; probably Rome.
I don't know for sure. However, it may be 1984.
Not certain, perhaps Oslo
I am not sure, my guess is Berlin
The passages do not mention it. The film was directed by Anna Ott.
Not Paris but Rome
He was not born in Rome.
Anna Ott, who is not mentioned in the documents
It was never released.
Anna is older than Bea, whose age is not known
Die Unbekannte
Der unbekannte Soldat
Keine Angst
Niemand
Ich bin kein Berliner
Weiß
L'Inconnu du lac
Je ne regrette rien
Non
Rien
Sans toit ni loi
El desconocido
No
Nada
No me acuerdo
Los desconocidos
Ignoto Militi Square
Non ci resta che piangere
Nulla
O Desconhecido
Não
Niets
Onbekende wateren
Ik ben niet bang
Нет
Никто
Незнайка
Неизвестный солдат
不知火舞
无锡
未来
不明飞行物
可能是北京，但无法确定
未知死亡
いいえ
東京
不明確な事実
아니요
서울
모나코
لا
القاهرة
غير بيدرسن
नहीं
दिल्ली
Hayır
Bilinmeyen Bir Kadının Mektubu
Yok Artık
Nie
Nieznajomi
Nie lubię poniedziałku
Warszawa
Ich weiß es nicht genau, aber wahrscheinlich Berlin
Je ne sais pas, mais probablement Paris
No lo sé, pero quizás Madrid
Не знаю точно, но вероятно Москва
わかりませんが、おそらく東京です
Bilmiyorum ama belki Ankara
"""
)
"""Answers, whatever was asked."""

MADE_ANSWERS = (
    ("None", "How many runs did he score in his last innings?"),
    ("None", "Which of these planets has rings?"),
    ("none", "According to the proverb, what is better than none?"),
    ("None", "Did any of them win?"),
    ("Unknown", "Is the author of the poem known or unknown?"),
    ("Nil", "How many goals did they score?"),
    ("NA", "What is the country code of Namibia?"),
    ("na", "What is the chemical symbol of sodium?"),
    ("No Answer", "Which album did the Electric Light Orchestra release first in America?"),
    ("I Don't Know", "Which song opens the album Blizzard of Ozz?"),
    ('"Unknown"', "In which film of 2011 does a man wake up in Berlin?"),
    ("He is not mentioned in the text.", "Is he mentioned in the Book of Genesis?"),
    ("Her name was not disclosed", "Was her name disclosed by the court?"),
)
"""Answers in reply to the question, abstentions to others."""

AFTERWARDS = _rows(
    """
I'm unable to provide an answer based on the search results.
The information is not available in the search results.
I cannot answer this question with the information I have.
We could not determine the year.
There isn't enough information to answer.
There is insufficient evidence to determine the answer.
No relevant information was found.
No relevant documents found.
I was not able to find a definitive answer.
The question cannot be answered with the given context.
It is unknown.
It is not known who wrote it.
The author of the book is unknown.
The exact date is unknown
Information unavailable
Data not available
I do not have access to that information.
unsure
Not stated
Could not be determined.
My search did not return any relevant results.
The search results do not contain the answer.
Error: no answer
I'm afraid I don't know.
Die Frage kann anhand der Dokumente nicht beantwortet werden.
Es ist nicht bekannt, wer das Buch schrieb.
Ich habe die Antwort nicht gefunden.
Je ne connais pas la réponse.
On ne sait pas.
La fecha de nacimiento es desconocida.
No tengo información sobre eso.
Non sono riuscito a trovare la risposta.
A data é desconhecida.
Ik heb geen antwoord gevonden.
Ответ неизвестен.
Я не смог найти ответ.
没有足够的信息来回答这个问题。
对不起，我不知道答案。
回答を見つけることができませんでした。
해당 정보를 찾을 수 없습니다
لا يمكن تحديد الإجابة
कोई जानकारी उपलब्ध नहीं है
Bu soruyu cevaplayamıyorum.
Nie mam wystarczających informacji.
I am unable to answer.
I haven't been able to find the answer.
The document doesn't say.
Not enough context.
Answer: unknown
The answer isn't in the provided text.
no definitive answer
The name of the director was not found in the search results.
I can't determine this from the results.
We don't have enough information.
The available evidence is insufficient to answer the question.
I failed to find the answer.
There's no information on this topic.
Unanswerable
The context provided does not include details about her death.
It is not mentioned.
None of the documents provide the required information.
I do not have enough information to answer the question accurately.
Not determinable from given sources
Die Informationen reichen nicht aus.
Das steht nicht im Text.
Je n'ai aucune information à ce sujet.
L'information n'est pas disponible.
No se encontró información.
No está claro.
Non sono disponibili informazioni.
Informação não disponível
Dat is niet bekend.
Данных недостаточно.
Этого я не знаю.
没有答案
文章中没有提到这一点。
情報が不足しています
알려지지 않음
لم يتم ذكر ذلك
इसके बारे में कोई जानकारी नहीं मिली
Yeterli bilgi bulunmuyor
Nie ma takiej informacji.
"""
)
"""Abstentions written in two batches when the table was done; it knew 27 of 44 and 24 of 38, and was widened."""

NOT_AFTERWARDS = _rows(
    """
Unknown Brain
Known Unknowns
The Known World
No Doubt
Not a Number
No Strings Attached
The National
Nowhere
Never Let Me Go
I Do
I Don't Want to Miss a Thing
I'm Sorry, Brenda Lee's hit
The Passage
The Answer
No. 10
N.A.S.A.
No Reservations
Nothing Compares 2 U
He did not find it until 1912
There is no evidence of life on Mars
It is not possible to travel faster than light
Cannot Be Tamed
Undefined behavior
In the Dark
He has no middle name
No, the two are not related.
no, neither of them
They did not win any
Nie ma mocnych
Je sais pas quoi faire
No sé tú
Keine Lust
Unbekannt verzogen
Non è un paese per vecchi
Not Available Light
I Don't Know How to Love Him
No information technology company
not guilty
not applicable law
No data plan
None of the above
None but the brave
None of them
The Man from Nowhere
Ничего
不明不白
无间道
알 포인트
Yok
"""
)
"""Answers written with them; 4 of 50 were taken for abstentions."""
