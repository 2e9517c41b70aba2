package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxDepth is how deep arrays and objects may nest in a body. The decoder's
// own limit is 10,000, far past any honest document.
const maxDepth = 64

// DecodeStrict reads one JSON document into v. Duplicate members, names in the
// wrong case, invalid UTF-8, data after the end and nesting past 64 are each
// refused with a code of their own. Members that v does not have are refused;
// with lenient, only those that differ from a known name by case are. Optional
// members with the tag minLength are refused when they are given as "". Every
// unknown or empty member and every value of the wrong type is named at once,
// up to 50; when v has a method Validate, together with its findings about the
// others.
func DecodeStrict(body []byte, v any, lenient bool) error {
	return decode(body, v, reading{lenient: lenient})
}

// reading is how a body is read.
type reading struct {
	lenient bool // members that are not known may be there
	patch   bool // members that are needed may be missing
}

// options returns the options of the decoder.
func (r reading) options() json.Options {
	if r.patch {
		return json.JoinOptions()
	}
	return wholePlaces
}

// wholePlaces makes the decoder refuse a place with only one of its two numbers,
// which would otherwise be on the equator or the meridian. Other missing members
// with the tag required:"true" are found by the code that decodes them; only for
// numbers zero is a valid value.
var wholePlaces = json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readWhole[api.Place]), json.UnmarshalFromFunc(readWhole[api.Spot])))

func readWhole[T any](dec *jsontext.Decoder, v *T) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	unknown, _ := json.GetOption(dec.Options(), json.RejectUnknownMembers)
	if err := json.Unmarshal(text, v, json.RejectUnknownMembers(unknown)); err != nil {
		return err
	}
	if text.Kind() != '{' {
		return nil
	}
	var given map[string]jsontext.Value
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	for name := range neededOf(reflect.TypeFor[T](), membersOf(reflect.TypeFor[T]())) {
		if given[name] == nil || given[name].Kind() == 'n' {
			return errMissing
		}
	}
	return nil
}

var errMissing = errors.New("a member is missing")

func decode(body []byte, v any, how reading) error {
	if err := surveyed(body); err != nil {
		return err
	}
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true), how.options())
	if err == nil {
		return notEmpty(body, v, how)
	}
	if how.lenient && errors.Is(err, json.ErrUnknownName) {
		return decodeLenient(body, v, how)
	}
	return everything(body, v, how, jsonFault(body, err))
}

// decodeLenient decodes again without the unknown members, unless one of them
// is a known name in other letters: that is a client's mistake, not an extra.
func decodeLenient(body []byte, v any, how reading) error {
	if name, ok := caseVariant(body, v); ok {
		return everything(body, v, how, unknownMember("/"+name, nil))
	}
	if err := json.Unmarshal(body, v, how.options()); err != nil {
		return everything(body, v, how, jsonFault(body, err))
	}
	return notEmpty(body, v, how)
}

// notEmpty refuses "" where it would pass for a member that is not there.
func notEmpty(body []byte, v any, how reading) error {
	if !bytes.Contains(body, []byte(`""`)) || !mayBeEmpty(v) {
		return nil
	}
	fields := misfits(body, reflect.New(reflect.TypeOf(v).Elem()).Interface(), how)
	if fields == nil {
		return nil
	}
	return fault.New(fault.Invalid, "EMPTY_MEMBER", "A member of the body is empty. Give it a value, or leave it out.").With(fields...)
}

// caseVariant finds a member of the outermost object whose name differs from
// one of v's only by case.
func caseVariant(body []byte, v any) (string, bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(body, &members) != nil {
		return "", false // the decoder proper names the trouble
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		known, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for name := range members {
			if name != known && strings.EqualFold(name, known) {
				return name, true
			}
		}
	}
	return "", false
}

// surveyed refuses a body for what Survey finds.
func surveyed(body []byte) error {
	deepest, nul := Survey(body)
	if deepest > maxDepth {
		return fault.New(fault.Invalid, "JSON_TOO_DEEP", "The body nests deeper than 64 levels.")
	}
	if !nul {
		return nil
	}
	f := fault.New(fault.Invalid, "NUL_CHARACTER", "A string in the body holds the character U+0000.")
	if pointer, ok := nulAt(body); ok {
		f = f.With(fault.Field{Pointer: pointer, Code: "nul_character", Detail: "Remove the character U+0000 from this text."})
	}
	return f
}

// nulAt finds the first string with a NUL: its pointer, or that of the object whose
// member has such a name. It looks no further than the JSON is good.
func nulAt(body []byte) (pointer string, found bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return "", false
		}
		if token.Kind() != '"' || !strings.ContainsRune(token.String(), 0) {
			continue
		}
		at := dec.StackPointer()
		if in, n := dec.StackIndex(dec.StackDepth()); in == '{' && n%2 == 1 { // a name
			at = at.Parent()
		}
		return string(at), true
	}
}

// nestsDeep reports whether a JSON text nests deeper than a body may.
func nestsDeep(b []byte) bool {
	deepest, _ := Survey(b)
	return deepest > maxDepth
}

// Survey finds the deepest nesting of brackets outside strings, and whether a
// string has an escaped NUL, which PostgreSQL cannot store. It reads bytes, not
// tokens: broken JSON is found later.
func Survey(b []byte) (deepest int, nul bool) {
	level := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n, has := surveyText(b[i+1:])
			i, nul = i+n, nul || has
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest, nul
}

// surveyText is Survey for the string that b continues: how long it is, with
// the quote at its end. Most of a body is text, which is skipped to the next
// quote or escape at once.
func surveyText(b []byte) (n int, nul bool) {
	for end := -1; ; n++ { // n++ skips the escaped byte
		if end < n {
			next := bytes.IndexByte(b[min(n, len(b)):], '"')
			if next < 0 {
				return len(b), nul
			}
			end = n + next
		}
		escape := bytes.IndexByte(b[n:end], '\\')
		if escape < 0 {
			return end + 1, nul
		}
		n += escape + 1
		nul = nul || bytes.HasPrefix(b[n:], []byte("u0000"))
	}
}

// jsonFault names what is wrong with a body without repeating its content: an
// echo would carry secrets and bytes that are not text into the answer.
func jsonFault(body []byte, err error) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return fault.New(fault.Invalid, "BODY_REQUIRED", "A JSON body is required.")
	}
	if !utf8.Valid(body) {
		return utf8Fault(body, err)
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return syntaxFault(body, syntax)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return semanticFault(semantic)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.Invalid, "MALFORMED_JSON", "The JSON body ends too early.").Wrap(err)
	}
	return fault.New(fault.Invalid, "MALFORMED_JSON", "The body is not valid JSON.").Wrap(err)
}

// utf8Fault says where the decoder met bytes that are not UTF-8, if it came so far.
func utf8Fault(body []byte, err error) error {
	f := fault.New(fault.Invalid, "INVALID_UTF8", "The body is not valid UTF-8.").Wrap(err)
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) || !strings.Contains(syntax.Err.Error(), "UTF-8") {
		return f
	}
	return f.With(fault.Field{Pointer: string(syntax.JSONPointer), Code: "invalid_utf8", Detail: fmt.Sprintf("The text here is not UTF-8, at %s. Save or send it as UTF-8.", whereIs(body, syntax.ByteOffset))})
}

func syntaxFault(body []byte, err *jsontext.SyntacticError) error {
	pointer := string(err.JSONPointer)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fault.New(fault.Invalid, "DUPLICATE_MEMBER", "A member appears twice.").Wrap(err).
			With(fault.Field{Pointer: pointer, Code: "duplicate", Detail: "This member appears twice in its object."})
	case strings.Contains(err.Err.Error(), "after top-level value"):
		return fault.New(fault.Invalid, "TRAILING_DATA", "There is data after the end of the JSON document.").Wrap(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.Invalid, "MALFORMED_JSON", "The JSON body ends too early.").Wrap(err).
			With(fault.Field{Pointer: pointer, Code: "syntax", Detail: fmt.Sprintf("The JSON ends here, at %s.", whereIs(body, err.ByteOffset))})
	}
	return fault.New(fault.Invalid, "MALFORMED_JSON", "The body is not valid JSON.").Wrap(err).
		With(fault.Field{Pointer: pointer, Code: "syntax", Detail: fmt.Sprintf("The JSON is broken here, at %s.", whereIs(body, err.ByteOffset))})
}

// whereIs says to people where an offset is: bytes count from 1 in their line.
func whereIs(body []byte, offset int64) string {
	before := body[:min(int(offset), len(body))]
	at := len(before) - bytes.LastIndexByte(before, '\n')
	if line := bytes.Count(before, []byte("\n")) + 1; line > 1 {
		return fmt.Sprintf("byte %d of line %d", at, line)
	}
	return fmt.Sprintf("byte %d", at)
}

func semanticFault(err *json.SemanticError) error {
	if errors.Is(err, json.ErrUnknownName) {
		return unknownMember(string(err.JSONPointer), err)
	}
	if errors.Is(err, errMissing) {
		return fault.New(fault.Invalid, "MISSING_MEMBER", "A member of the body is missing.").Wrap(err).With(missing(string(err.JSONPointer)))
	}
	return fault.New(fault.Invalid, "WRONG_TYPE", "A member has a value of the wrong type.").Wrap(err).With(wrongType(err))
}

// everything names all members that do not fit, given the fault of the first,
// whose code and message it keeps.
func everything(body []byte, v any, how reading, first error) error {
	f := fault.As(first)
	if f == nil || f.Code != "UNKNOWN_MEMBER" && f.Code != "WRONG_TYPE" && f.Code != "MISSING_MEMBER" {
		return first
	}
	fields := misfits(body, v, how)
	if fields == nil {
		return first
	}
	c := *f
	c.Fields = fields
	return &c
}

func unknownMember(pointer string, cause error) error {
	return fault.New(fault.Invalid, "UNKNOWN_MEMBER", "The body has a member that is not known here; names are case-sensitive.").Wrap(cause).
		With(unknownField(pointer))
}
