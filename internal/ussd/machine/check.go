package machine

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths in code points.
const (
	maxName  = 60
	maxText  = 100
	maxEmail = 100
	maxID    = 20
)

// Param is a name that packs use, and its purpose.
type Param struct {
	Name   string
	About  string
	Secret bool // only the answer to a question marked secret is taken
}

// check is a validator. It returns the value in its stored form.
type check struct {
	Param
	run func(value, arg string) (string, bool)
}

// checks are the validators. docs/ussd.md is made of them.
var checks = []check{
	{Param{Name: "name", About: "a name: letters of any script with blanks, hyphens, dots and apostrophes, at most " + strconv.Itoa(maxName) + " characters"}, plain(checkName)},
	{Param{Name: "email", About: "an email address, at most " + strconv.Itoa(maxEmail) + " characters"}, plain(checkEmail)},
	{Param{Name: "customerId", About: "a Customer ID in either case; kept in capitals"}, plain(checkCustomerID)},
	{Param{Name: "pin", Secret: true, About: "a new PIN: 5 digits"}, count(5, 5)},
	{Param{Name: "pinLogin", Secret: true, About: "a PIN to log in with: 4 to 6 digits, because other servers have such PINs"}, count(4, 6)},
	{Param{Name: "code6", Secret: true, About: "a code of 6 digits, as `resetStart` sends it"}, count(6, 6)},
	{Param{Name: "digits", About: "1 to 20 digits"}, count(1, 20)},
	{Param{Name: "integer", About: "a whole number; `integer:1..30` wants one in that range. Conditions take the answer as a number"}, checkInteger},
	{Param{Name: "phone", About: "an international number, with or without `+`; stored with it"}, plain(checkPhone)},
	{Param{Name: "text", About: "any text, at most " + strconv.Itoa(maxText) + " characters"}, plain(checkText)},
}

// plain is a validator without an argument.
func plain(f func(string) (string, bool)) func(value, arg string) (string, bool) {
	return func(v, _ string) (string, bool) { return f(v) }
}

// count takes from least to most digits.
func count(least, most int) func(value, arg string) (string, bool) {
	return func(v, _ string) (string, bool) { return v, digits(v, least, most) }
}

// Checks lists the validators. Answers to those that are Secret are always
// secret: PINs and codes.
func Checks() []Param {
	out := make([]Param, len(checks))
	for i, c := range checks {
		out[i] = c.Param
	}
	return out
}

// Check applies the validator of a name to a value and returns the value to
// store. "" accepts any text; an unknown validator accepts nothing.
func Check(name, value string) (string, bool) {
	if name == "" {
		name = "text"
	}
	name, arg, _ := strings.Cut(name, ":")
	for i := range checks {
		if c := &checks[i]; c.Name == name {
			return c.run(strings.TrimSpace(value), arg)
		}
	}
	return "", false
}

// digits reports whether v is from least to most digits.
func digits(v string, least, most int) bool {
	if len(v) < least || len(v) > most {
		return false
	}
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return true
}

// unseen are the code points that a screen shows nothing for: some of them are
// letters, so that a name of them alone would look empty.
var unseen = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf}

// maxMarks limits the marks on a letter of a name. No language needs more; a
// pile of them would cover the lines above.
const maxMarks = 4

// checkName takes letters of any script with what names have between them.
func checkName(v string) (string, bool) {
	v = strings.Join(strings.Fields(v), " ")
	letters, marks := 0, 0
	for _, r := range v {
		if !unicode.IsMark(r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			return "", false
		}
		switch {
		case r >= utf8.RuneSelf && unicode.In(r, unseen...):
			return "", false
		case unicode.IsLetter(r):
			letters++
		case r == ' ', r == '\'', r == '’', r == '-', r == '.', unicode.IsMark(r):
		default:
			return "", false
		}
	}
	return v, letters > 0 && utf8.RuneCountInString(v) <= maxName
}

// checkEmail requires a@b.c of plain characters. Whether it exists shows when
// something is sent there.
func checkEmail(v string) (string, bool) {
	local, domain, ok := strings.Cut(v, "@")
	if !ok || len(v) > maxEmail || local == "" || !strings.Contains(domain, ".") {
		return "", false
	}
	for i := range len(local) {
		if c := local[i]; !alnum(c) && !strings.ContainsRune(".!#$%&'*+-/=?^_`{|}~", rune(c)) {
			return "", false
		}
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return "", false
		}
		for i := range len(label) {
			if c := label[i]; !alnum(c) && c != '-' {
				return "", false
			}
		}
	}
	return v, true
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// checkCustomerID takes the id in either case, as keypads write both.
func checkCustomerID(v string) (string, bool) {
	if len(v) < 9 || len(v) > maxID || v[0] != 'C' && v[0] != 'c' {
		return "", false
	}
	for i := range len(v) {
		if !alnum(v[i]) {
			return "", false
		}
	}
	return strings.ToUpper(v), true
}

// checkInteger takes a whole number in the range of its argument.
func checkInteger(v, arg string) (string, bool) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || v[0] == '+' {
		return "", false
	}
	if arg != "" {
		from, to, _ := strings.Cut(arg, "..")
		least, err1 := strconv.ParseInt(from, 10, 64)
		most, err2 := strconv.ParseInt(to, 10, 64)
		if err1 != nil || err2 != nil || n < least || n > most {
			return "", false
		}
	}
	return strconv.FormatInt(n, 10), true
}

// checkPhone takes an international number with or without the plus, which is
// hard to type, and spaces between its digits.
func checkPhone(v string) (string, bool) {
	v = strings.ReplaceAll(v, " ", "")
	switch {
	case strings.HasPrefix(v, "+"):
		v = v[1:]
	case strings.HasPrefix(v, "00"):
		v = v[2:]
	}
	if !digits(v, 8, 15) || v[0] == '0' {
		return "", false
	}
	return "+" + v, true
}

func checkText(v string) (string, bool) {
	n := utf8.RuneCountInString(v)
	return v, n >= 1 && n <= maxText
}
