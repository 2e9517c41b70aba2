package xlsform

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Words in the name or the label of a question that show that it identifies a
// person. The name of a place or a thing does not.
var (
	personWords = strings.Fields("name names firstname lastname fullname surname nickname phone telephone mobile msisdn whatsapp email passport nid nationalid idnumber signature " +
		"nom prénom prenom téléphone telephone nombre apellido teléfono telefono correo nome sobrenome telefone jina simu sahihi")
	thingWords = strings.Fields("village town city county district ward region country project stove brand product school shop market company organisation organization file form place area location state province " +
		"device fuel model group church clinic enumerator interviewer collector month day crop animal kijiji mtaa wilaya mkoa shule soko ville quartier école projet pueblo ciudad escuela proyecto")
	birthWords   = strings.Fields("birth born dob birthday birthdate naissance né née nacimiento nascimento kuzaliwa")
	consentWords = strings.Fields("consent consents agree agrees agreement consentement consentez acceptez consentimiento acepta consentimento ridhaa unakubali")
	// otherConsents are consents to something else than the interview.
	otherConsents = strings.Fields("photo photos picture pictures image audio record recording recorded video share shared contact visit return follow followup gps location")
	// countWords begin a question for how many there are of something.
	countWords = strings.Fields("many much often count total combien cuántos cuantos cuántas quantos ngapi")
	// numberPhrases in a label show that a number identifies a person.
	numberPhrases = []string{"phone number", "telephone number", "mobile number", "whatsapp number", "id number", "identity number", "national id", "passport number", "card number", "numéro de téléphone", "número de teléfono", "número de telefone", "nambari ya simu", "namba ya simu"}
)

// personal marks a question of a foreign form whose answer seems to identify a
// person, and reports it.
func (im *importer) personal(e *entry, q *form.Question) {
	if im.ours || q.PII != "" {
		return
	}
	k := form.KindOf(q.Type)
	column := "name"
	if q.PII = looksPersonal(k, wordsOf(e.name), ""); q.PII == "" {
		column = "label"
		for _, label := range q.Label {
			if q.PII == "" {
				q.PII = looksPersonal(k, labelWords(label), label)
			}
		}
	}
	if q.PII != "" {
		e.item(column, Note, "personal", "The question looks personal and is marked as %s. To mark it otherwise, write none, direct or indirect into a column hearth_pii.", q.PII)
	}
}

// looksPersonal is the mark of a question with such words in its name, or in its
// label, which is the whole text.
func looksPersonal(k *form.Kind, words []string, label string) form.PII {
	about := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	joined := strings.Join(words, " ")
	number := slices.ContainsFunc(numberPhrases, func(p string) bool { return strings.Contains(joined, p) })
	person := about(personWords) && !about(thingWords) || number
	if label != "" && k.Bounds && !number { // a number that a label asks for is mostly an amount
		person = false
	}
	if about(countWords) {
		person = false
	}
	switch {
	case k.Media && k.Personal, (k.Quality.Code || k.Calculated && label == "") && person:
		return form.PIIDirect
	case k.Place, k.Media, (k.Day || k.Quality.Code) && about(birthWords) && !about(countWords):
		return form.PIIIndirect
	}
	return ""
}

// personal says which columns of files look personal.
func (f *files) personal() {
	for _, file := range f.used {
		for _, column := range file.Columns {
			if looksPersonal(form.KindOf(form.FreeText), wordsOf(column), "") != "" && column != "name" && column != "label" {
				f.report.add(Item{Sheet: file.Name, Row: 1, Column: column, Level: Note, Code: "personal", Detail: "The column looks personal. Anybody who may read the template can read the file: leave out what the form does not need, and mark questions that show it with hearth_pii."})
			}
		}
	}
}

// consent makes the question that asks for the consent to the interview one of
// the type consent: the first that looks like it, unless the form says which it
// is.
func (im *importer) consent(e *entry, t form.Type) form.Type {
	if im.ours || im.consented || !looksLikeConsent(e) {
		return t
	}
	if e.word == "select_one" && (e.orOther || !yesOrNo(im.lists[e.listKey()])) {
		return t
	}
	im.consented = true
	e.item("type", Note, "consent", "The question looks like the consent to the interview and became one: its answers are true or false, and any answer other than true ends the interview. If it is not the consent, write none into a column hearth_type.")
	return form.Consent
}

// looksLikeConsent reports whether a row asks for consent, to the interview and
// nothing else.
func looksLikeConsent(e *entry) bool {
	if e.word != "select_one" && e.word != "acknowledge" || e.file != "" || e.ours("hearth_type") != "" {
		return false
	}
	words := wordsOf(e.name)
	if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(consentWords, w) }) {
		for _, label := range e.text("label", "") {
			words = append(words, labelWords(label)...)
		}
	}
	has := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	return has(consentWords) && !has(otherConsents)
}

// yesOrNo reports whether the choices of a list are a yes and a no.
func yesOrNo(list []choice) bool {
	if len(list) != 2 {
		return false
	}
	a, ok := form.YesNo(list[0].Value)
	b, both := form.YesNo(list[1].Value)
	return ok && both && a != b && list[0].Value != "" && list[1].Value != ""
}

// named reports whether a row of the form has something in one of our columns.
func (im *importer) named(header, value string) bool {
	return slices.ContainsFunc(im.survey.rows, func(r *row) bool {
		text := r.ours(header)
		return text != "" && (value == "" || text == value)
	})
}

// advise asks for what surveys need and the form does not say: its consent
// question, and which questions back-checks ask again.
func (im *importer) advise() {
	if im.ours || im.stopped {
		return
	}
	im.files.personal()
	if !im.consented {
		im.survey.item(0, "", Note, "consent", "The form has no consent question, which a survey needs before it begins. Write consent into a column hearth_type of the question that asks for it.")
	}
	if !im.named("hearth_backCheckClass", "") {
		im.survey.item(0, "", Note, "back_check", "No question is marked for back-checks. Write into a column hearth_backCheckClass: 1 for what never changes, 2 for what should not, 3 for what may.")
	}
}

// wordsOf are the words of a name, in lower case: first_name, firstName.
func wordsOf(name string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			b.WriteByte(' ')
		}
		before = r
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// labelWords are the words of a label, in lower case.
func labelWords(label string) []string {
	return strings.FieldsFunc(strings.ToLower(form.Reference.ReplaceAllString(label, " ")), func(r rune) bool { return !unicode.IsLetter(r) })
}
