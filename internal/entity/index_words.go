package entity

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// People look for twins by words: from a name, a telephone number, a place.
// Words are entries of the property index too, under numbers below zero, which
// no property has.
var wordIDs = map[string]int64{"name": -1, "phone": -2, "district": -3, "village": -4, "location": -5}

// Limits for words: words of one value, characters of one word, digits of a
// number, and the digits at its end that remain without the country code.
const (
	maxWords    = 20
	maxWord     = 100
	maxDigits   = 40
	localDigits = 9
)

// WordRange is where the property index has the twins of a workspace with a word
// that begins with a text, in one of the properties name, phone, district, village
// and location: under the number pid, from the first text to before the second.
func WordRange(ws, property, text string) (pid int64, from, to string) {
	from, to = db.Prefix(text)
	return wordIDs[property], ws + "\x1f" + from, ws + "\x1f" + to
}

// SplitWords splits a name into words. Words may be empty.
func SplitWords(name string) []string {
	return strings.Split(wordBreaks.Replace(name), " ")
}

var (
	wordBreaks = strings.NewReplacer("-", " ", "(", " ", ",", " ", "/", " ")
	noDigits   = strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", "+", "")
)

// wordsOf lists the words a twin is found by: each word of its name, its telephone
// number with and without the country code, and the names of its places, whole and
// from their second word on.
func wordsOf(ws, name string, values map[string]any) []prop {
	w := words{ws: ws}
	if name != "" {
		w.add("name", SplitWords(name)...)
	}
	if phone, ok := values["phone"].(string); ok {
		digits := first([]rune(noDigits.Replace(phone)), maxDigits)
		local := digits[max(0, len(digits)-localDigits):]
		w.add("phone", strings.TrimLeft(string(digits), "0"), strings.TrimLeft(string(local), "0"))
	}
	w.place("district", values["district"])
	w.place("village", values["village"])
	if location, ok := values["location"].(map[string]any); ok {
		w.place("location", location["district"])
		w.place("location", location["village"])
	}
	return w.props
}

// words gathers the entries of one twin.
type words struct {
	ws    string
	props []prop
}

func (w *words) add(property string, list ...string) {
	for _, word := range first(list, maxWords) {
		if word == "" {
			continue
		}
		pid, val, _ := WordRange(w.ws, property, string(first([]rune(word), maxWord)))
		w.props = append(w.props, prop{PID: pid, Val: val})
	}
}

func (w *words) place(property string, value any) {
	if text, ok := value.(string); ok {
		list := strings.Split(text, " ")
		list[0] = text
		w.add(property, list...)
	}
}

// first are at most n of a list.
func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }
