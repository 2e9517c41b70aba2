package cel

import (
	"crypto/md5"  //nolint:gosec // a function of forms, no protection
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// formFunctions returns the functions of ODK's reference that CEL lacks. They take
// any value and convert it as CEL's conversions do.
func formFunctions() []cel.EnvOption {
	out := []cel.EnvOption{
		function("roundTo", cel.DoubleType, 2, func(a []ref.Val) ref.Val { return roundTo(a[0], a[1]) }),
		function("math.pi", cel.DoubleType, 0, func([]ref.Val) ref.Val { return types.Double(math.Pi) }),
		function("part", cel.StringType, 3, part),
		function("before", cel.StringType, 2, func(a []ref.Val) ref.Val {
			head, _, found := strings.Cut(asText(a[0]), asText(a[1]))
			if !found {
				head = ""
			}
			return types.String(head)
		}),
		function("after", cel.StringType, 2, func(a []ref.Val) ref.Val {
			_, tail, _ := strings.Cut(asText(a[0]), asText(a[1]))
			return types.String(tail)
		}),
		function("exchanged", cel.StringType, 3, exchanged),
		function("squeezed", cel.StringType, 1, func(a []ref.Val) ref.Val { return types.String(strings.Join(strings.Fields(asText(a[0])), " ")) }),
		function("formatDate", cel.StringType, 2, formatDate),
		function("dayFraction", cel.DoubleType, 1, dayFraction),
		function("digest", cel.StringType, 3, digest),
		function("base64Decoded", cel.StringType, 1, func(a []ref.Val) ref.Val {
			b, err := base64.StdEncoding.DecodeString(asText(a[0]))
			if err != nil || !utf8.Valid(b) {
				return types.String("")
			}
			return types.String(b)
		}),
		function("uuid", cel.StringType, 1, func(a []ref.Val) ref.Val {
			s := sha256.Sum256([]byte("uuid\x00" + asText(a[0])))
			s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80 // version 8: made by a rule of our own
			return types.String(fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16]))
		}),
		function("random", cel.DoubleType, 1, func(a []ref.Val) ref.Val {
			s := sha256.Sum256([]byte("random\x00" + asText(a[0])))
			const bits = 6 // bytes of it, as a fraction
			var n uint64
			for _, b := range s[:bits] {
				n = n<<8 | uint64(b)
			}
			return types.Double(float64(n) / (1 << (8 * bits)))
		}),
	}
	for name, f := range map[string]func(float64) float64{
		"log": math.Log, "log10": math.Log10, "exp": math.Exp, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	} {
		out = append(out, function("math."+name, cel.DoubleType, 1, func(a []ref.Val) ref.Val { return types.Double(f(asNumber(a[0]))) }))
	}
	for name, f := range map[string]func(a, b float64) float64{"pow": math.Pow, "atan2": math.Atan2} {
		out = append(out, function("math."+name, cel.DoubleType, 2, func(a []ref.Val) ref.Val { return types.Double(f(asNumber(a[0]), asNumber(a[1]))) }))
	}
	return out
}

// function declares a function of so many arguments of any type.
func function(name string, gives *cel.Type, args int, f func([]ref.Val) ref.Val) cel.EnvOption {
	takes := make([]*cel.Type, args)
	for i := range takes {
		takes[i] = cel.DynType
	}
	return cel.Function(name, cel.Overload(strings.ReplaceAll(name, ".", "_")+"_any", takes, gives, cel.FunctionBinding(func(a ...ref.Val) ref.Val { return f(a) })))
}

// part is a piece of a text between two places, which count from 0, or from the
// end when they are negative.
func part(a []ref.Val) ref.Val {
	r := []rune(asText(a[0]))
	at := func(v ref.Val, none int) int {
		f := asNumber(v)
		switch {
		case math.IsNaN(f):
			return none
		case f < 0:
			f += float64(len(r))
		}
		return int(min(max(f, 0), float64(len(r))))
	}
	from, to := at(a[1], 0), at(a[2], len(r))
	return types.String(r[from:max(from, to)])
}

// exchanged replaces characters by those at the same place of another text;
// those that have none there are left out.
func exchanged(a []ref.Val) ref.Val {
	from, to := []rune(asText(a[1])), []rune(asText(a[2]))
	by := map[rune]rune{}
	for i, r := range from {
		if _, seen := by[r]; seen {
			continue
		}
		if by[r] = -1; i < len(to) {
			by[r] = to[i]
		}
	}
	return types.String(strings.Map(func(r rune) rune {
		if other, ok := by[r]; ok {
			return other
		}
		return r
	}, asText(a[0])))
}

// dateWords are the formats of a time by the letter after %.
var dateWords = map[byte]func(time.Time) string{
	'Y': func(t time.Time) string { return t.Format("2006") },
	'y': func(t time.Time) string { return t.Format("06") },
	'm': func(t time.Time) string { return t.Format("01") },
	'n': func(t time.Time) string { return t.Format("1") },
	'b': func(t time.Time) string { return t.Format("Jan") },
	'd': func(t time.Time) string { return t.Format("02") },
	'e': func(t time.Time) string { return t.Format("2") },
	'H': func(t time.Time) string { return t.Format("15") },
	'h': func(t time.Time) string { return fmt.Sprint(t.Hour()) },
	'M': func(t time.Time) string { return t.Format("04") },
	'S': func(t time.Time) string { return t.Format("05") },
	'3': func(t time.Time) string { return fmt.Sprintf("%03d", t.Nanosecond()/int(time.Millisecond)) },
	'a': func(t time.Time) string { return t.Format("Mon") },
	'%': func(time.Time) string { return "%" },
}

func formatDate(a []ref.Val) ref.Val {
	t, ok := asMoment(a[0]).(types.Timestamp)
	if !ok {
		return types.String("")
	}
	var out strings.Builder
	format := asText(a[1])
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) || dateWords[format[i+1]] == nil {
			out.WriteByte(format[i])
			continue
		}
		i++
		out.WriteString(dateWords[format[i]](t.UTC()))
	}
	return types.String(out.String())
}

// dayFraction is how much of the day has passed at a time.
func dayFraction(a []ref.Val) ref.Val {
	text := asText(a[0])
	if _, clock, ok := strings.Cut(text, "T"); ok {
		text = clock
	}
	text, _, _ = strings.Cut(strings.TrimSuffix(text, "Z"), "+")
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return types.Double(float64(t.Sub(t.Truncate(dayLength))) / float64(dayLength))
		}
	}
	return types.Double(math.NaN())
}

func digest(a []ref.Val) ref.Val {
	var sum []byte
	data := []byte(asText(a[0]))
	switch asText(a[1]) {
	case "MD5":
		s := md5.Sum(data) //nolint:gosec // a function of forms
		sum = s[:]
	case "SHA-1":
		s := sha1.Sum(data) //nolint:gosec // a function of forms
		sum = s[:]
	case "SHA-256":
		s := sha256.Sum256(data)
		sum = s[:]
	case "SHA-384":
		s := sha512.Sum384(data)
		sum = s[:]
	case "SHA-512":
		s := sha512.Sum512(data)
		sum = s[:]
	default:
		return types.NewErr("there is no digest of this name")
	}
	if asText(a[2]) == "hex" {
		return types.String(hex.EncodeToString(sum))
	}
	return types.String(base64.StdEncoding.EncodeToString(sum))
}
