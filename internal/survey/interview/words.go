package interview

import (
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// word is a text of ours besides the words of a template.
type word int

const (
	wYes word = iota
	wNo
	wOther
	wOtherHow
	wDontKnow
	wRefused
	wFrom
	wLeast
	wMost
	wDate
	wTime
	wMoment
	wSeveral
	wOrder
	wUnits
	wName
	wMore
	wWrong
	wNotShown
	wTooFew
	wTooMany
	wAlone
	wTwice
	wNumber
	wNeeded
	wWhich
	wSkip
	wBack
	wConsent
)

// words are in the languages the program speaks. A template may speak others: its
// own texts are then in its language, and these in English.
var words = map[string][]string{
	"en": {
		"Yes", "No", "Other", "Say it in your own words", "I do not know", "I would rather not say", "From {} to {}.", "{} or more.", "{} or less.",
		"Day, month, year, such as 31012026", "Such as 1405", "Such as 2026-01-31T14:05:00+03:00", "Several numbers, such as 1 3", "All numbers in order, such as 2 1 3",
		"Number and unit, such as 5 {}", "Type the name", "Add one more?", "This cannot be taken.", "Choose a number shown.", "Choose more.", "Choose fewer.",
		"One of them goes alone.", "Each once, please.", "Type a number.", "This needs an answer.", "Which one? {}", "Skip", "Back", "Please answer this first.",
	},
	"sw": {
		"Ndiyo", "Hapana", "Nyingine", "Eleza kwa maneno yako", "Sijui", "Sipendi kusema", "Kuanzia {} hadi {}.", "{} au zaidi.", "{} au chini.",
		"Siku, mwezi, mwaka, kama 31012026", "Mfano 1405", "Mfano 2026-01-31T14:05:00+03:00", "Namba kadhaa, mfano 1 3", "Namba zote kwa mpangilio, mfano 2 1 3",
		"Namba na kipimo, mfano 5 {}", "Andika jina", "Ongeza mwingine?", "Jibu hili halikubaliki.", "Chagua namba iliyoonyeshwa.", "Chagua zaidi.", "Chagua chache.",
		"Mojawapo huchaguliwa peke yake.", "Kila moja mara moja tu.", "Andika namba.", "Swali hili linahitaji jibu.", "Ipi? {}", "Ruka", "Rudi", "Tafadhali jibu hili kwanza.",
	},
}

func (w word) in(lang string, fill ...string) string {
	lang, _, _ = strings.Cut(lang, "-")
	all := words[lang]
	if all == nil {
		all = words["en"]
	}
	text := all[w]
	for _, f := range fill {
		text = strings.Replace(text, "{}", f, 1)
	}
	return text
}

// refusals are the words for what the form finds wrong.
var refusals = map[string]word{
	"not_an_option": wNotShown, "not_offered": wNotShown, "too_few": wTooFew, "too_many": wTooMany, "exclusive": wAlone, "duplicate": wTwice, "wrong_type": wWrong,
	"required": wNeeded,
}

// bounds say which numbers are taken.
func bounds(q *form.Question, lang string) string {
	low, high := form.Bounds(q)
	show := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case low != nil && high != nil:
		return wFrom.in(lang, show(low), show(high))
	case low != nil:
		return wLeast.in(lang, show(low))
	case high != nil:
		return wMost.in(lang, show(high))
	}
	return ""
}
