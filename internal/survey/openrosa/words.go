package openrosa

import "github.com/hearth-dmrv/hearth/internal/survey/form"

// words are what forms say that no template says, by language.
var words = struct {
	yes, no, other, specify, unit, count, silence, dontKnow, refused, both, household, another, noDID form.Text
}{
	yes:       form.Text{"en": "Yes", "sw": "Ndiyo", "fr": "Oui", "pt": "Sim", "es": "Sí"},
	no:        form.Text{"en": "No", "sw": "Hapana", "fr": "Non", "pt": "Não", "es": "No"},
	other:     form.Text{"en": "Other", "sw": "Nyingine", "fr": "Autre", "pt": "Outro", "es": "Otro"},
	specify:   form.Text{"en": "Please say which", "sw": "Tafadhali taja", "fr": "Veuillez préciser", "pt": "Por favor, especifique", "es": "Especifique, por favor"},
	unit:      form.Text{"en": "Unit", "sw": "Kipimo", "fr": "Unité", "pt": "Unidade", "es": "Unidad"},
	count:     form.Text{"en": "how many?", "sw": "ngapi?", "fr": "combien ?", "pt": "quantos?", "es": "¿cuántos?"},
	silence:   form.Text{"en": "No answer?", "sw": "Hakuna jibu?", "fr": "Pas de réponse ?", "pt": "Sem resposta?", "es": "¿Sin respuesta?"},
	dontKnow:  form.Text{"en": "Does not know", "sw": "Hajui", "fr": "Ne sait pas", "pt": "Não sabe", "es": "No sabe"},
	refused:   form.Text{"en": "Does not want to say", "sw": "Hataki kusema", "fr": "Ne veut pas répondre", "pt": "Não quer dizer", "es": "No quiere decirlo"},
	both:      form.Text{"en": "There is an answer already. Take it away first.", "sw": "Jibu lipo tayari. Liondoe kwanza.", "fr": "Il y a déjà une réponse. Retirez-la d’abord.", "pt": "Já há uma resposta. Retire-a primeiro.", "es": "Ya hay una respuesta. Quítela primero."},
	household: form.Text{"en": "Household", "sw": "Kaya", "fr": "Ménage", "pt": "Agregado familiar", "es": "Hogar"},
	another:   form.Text{"en": "Identifier of the household (DID)", "sw": "Kitambulisho cha kaya (DID)", "fr": "Identifiant du ménage (DID)", "pt": "Identificador do agregado (DID)", "es": "Identificador del hogar (DID)"},
	noDID:     form.Text{"en": "An identifier begins with did:", "sw": "Kitambulisho huanza na did:", "fr": "Un identifiant commence par did:", "pt": "Um identificador começa por did:", "es": "Un identificador empieza por did:"},
}

// Another is the label for a household that is not on the list.
var Another = form.Text{"en": "Another household", "sw": "Kaya nyingine", "fr": "Un autre ménage", "pt": "Outro agregado", "es": "Otro hogar"}

// AnotherValue is the value of that entry.
const AnotherValue = anotherValue
