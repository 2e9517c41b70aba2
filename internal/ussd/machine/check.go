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

// checks are the validators by name. Each gives the value as it is stored.
var checks = map[string]func(value, arg string) (string, bool){
	"name":       func(v, _ string) (string, bool) { return checkName(v) },
	"email":      func(v, _ string) (string, bool) { return checkEmail(v) },
	"customerId": func(v, _ string) (string, bool) { return checkCustomerID(v) },
	"pin":        func(v, _ string) (string, bool) { return v, digits(v, 5, 5) },
	"pinLogin":   func(v, _ string) (string, bool) { return v, digits(v, 4, 6) },
	"code6":      func(v, _ string) (string, bool) { return v, digits(v, 6, 6) },
	"digits":     func(v, _ string) (string, bool) { return v, digits(v, 1, 20) },
	"integer":    checkInteger,
	"phone":      func(v, _ string) (string, bool) { return checkPhone(v) },
	"text":       func(v, _ string) (string, bool) { return checkText(v) },
}

// Checks lists the names of the validators. integer takes an argument:
// "integer:1..30".
func Checks() []string {
	return []string{"name", "email", "customerId", "pin", "pinLogin", "code6", "digits", "integer", "phone", "text"}
}

// SecretChecks lists those whose answers are always secret: PINs and codes.
func SecretChecks() []string { return []string{"pin", "pinLogin", "code6"} }

// Check looks at a value with the validator of a name and gives it as it is to
// be kept. "" takes any text; a validator nobody knows takes nothing.
func Check(name, value string) (string, bool) {
	if name == "" {
		name = "text"
	}
	name, arg, _ := strings.Cut(name, ":")
	f := checks[name]
	if f == nil {
		return "", false
	}
	return f(strings.TrimSpace(value), arg)
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

// maxMarks is how many marks a letter of a name may carry. No language needs
// more; those who pile them up cover the lines above.
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

// checkEmail wants a@b.c of plain characters. Whether it exists shows when
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
