package xlsform

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Words in the name of a question that say whom it is about. A name of a place
// or a thing is no name of a person.
var (
	personWords  = strings.Fields("name names firstname lastname fullname surname nickname phone telephone mobile msisdn whatsapp email passport nid nationalid idnumber signature nom prenom telefono jina simu")
	thingWords   = strings.Fields("village town city county district ward region country project stove brand product school shop market company organisation organization file form place area location state province")
	birthWords   = strings.Fields("birth born dob birthday birthdate naissance nacimiento")
	consentWords = strings.Fields("consent consents agree agrees agreement consentement consentimiento ridhaa")
)

// personal marks a question of somebody else's form that looks as if its answer
// said who somebody is, and says so.
func (im *importer) personal(e *entry, q *form.Question) {
	if im.ours || q.PII != "" {
		return
	}
	k, words := form.KindOf(q.Type), wordsOf(e.name)
	about := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	number := strings.Contains(strings.Join(words, "_"), "id_number") || strings.Contains(strings.Join(words, "_"), "national_id")
	switch {
	case k.Media && k.Personal, k.Quality.Code && !about(thingWords) && (about(personWords) || number):
		q.PII = form.PIIDirect
	case k.Place, k.Media, k.Day && about(birthWords):
		q.PII = form.PIIIndirect
	default:
		return
	}
	e.item("name", Note, "personal", "The question looks personal and is marked as %s. To mark it otherwise, write none, direct or indirect into a column hearth_pii.", q.PII)
}

// consents asks for the consent question of a form that has none.
func (im *importer) consents() {
	if im.ours || im.stopped {
		return
	}
	found := false
	var walk func(e *entry)
	walk = func(e *entry) {
		for _, kid := range e.kept {
			kind := form.KindOf(form.Type(kid.ours("hearth_type")))
			found = found || kind.Consent
			if (kid.word == "select_one" || kid.word == "acknowledge") && !kind.Consent && slices.ContainsFunc(wordsOf(kid.name), func(w string) bool { return slices.Contains(consentWords, w) }) {
				kid.item("type", Note, "consent", "The question looks like the consent to the interview. If it is, write consent into a column hearth_type; answers are then true or false.")
				found = true
			}
			walk(kid)
		}
	}
	for _, s := range im.sections {
		walk(s)
	}
	if !found {
		im.survey.item(0, "", Note, "consent", "The form has no consent question, which a survey needs before it begins. Write consent into a column hearth_type of the question that asks for it. A column hearth_backCheckClass names the questions that back-checks ask again: 1 never changes, 2 should not, 3 may.")
	}
}

// wordsOf are the words of a name, in lower case: first_name, firstName.
func wordsOf(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
