package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxTags is how many entity tags of one header are looked at.
const maxTags = 64

// ETag is the strong entity tag of a revision: its number in quotes.
func ETag(revision int64) string {
	return `"` + strconv.FormatInt(revision, 10) + `"`
}

// tags are the entity tags of a conditional header.
type tags struct {
	any  bool // "*"
	list []tag
}

type tag struct {
	value string // with its quotes
	weak  bool
}

// parseTags reads If-Match or If-None-Match: "*" or a list of tags, some of
// them weak. ok is false when the header is not well-formed.
func parseTags(header string) (t tags, ok bool) {
	rest := strings.Trim(header, " \t")
	if rest == "*" {
		return tags{any: true}, true
	}
	for rest != "" {
		if rest[0] == ',' || rest[0] == ' ' || rest[0] == '\t' { // empty list members are legal
			rest = rest[1:]
			continue
		}
		one, after, ok := cutTag(rest)
		if !ok || len(t.list) == maxTags {
			return tags{}, false
		}
		t.list = append(t.list, one)
		rest = strings.TrimLeft(after, " \t")
		if rest != "" && rest[0] != ',' {
			return tags{}, false
		}
	}
	return t, len(t.list) > 0
}

// cutTag takes one tag off the front of s.
func cutTag(s string) (t tag, rest string, ok bool) {
	s, t.weak = strings.CutPrefix(s, "W/")
	if s == "" || s[0] != '"' {
		return tag{}, "", false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			t.value = s[:i+1]
			return t, s[i+1:], true
		case c <= ' ' || c == 0x7f:
			return tag{}, "", false
		}
	}
	return tag{}, "", false
}

// CheckMatch compares If-Match with the revision a change is about to replace,
// 0 when there is none. Without the header the fault is PRECONDITION_REQUIRED,
// with tags of other revisions STALE_REVISION. Call it in the transaction that
// makes the change. A weak tag never matches: RFC 9110 requires a strong
// comparison here.
func CheckMatch(ifMatch string, revision int64) error {
	const field = "header/If-Match"
	if strings.TrimSpace(ifMatch) == "" {
		return fault.New(fault.Unconditional, "PRECONDITION_REQUIRED", "Send If-Match with the ETag of the version you have read.").
			With(fault.Field{Pointer: field, Code: "required", Detail: "This header is required."})
	}
	t, ok := parseTags(ifMatch)
	if !ok {
		return invalidParameter(field, "invalid", `The header must be * or a list of entity tags such as "7".`)
	}
	if revision > 0 && (t.any || t.has(ETag(revision), false)) {
		return nil
	}
	f := Overtaken()
	if revision > 0 {
		f = f.Showing(stale{Current{ETag: ETag(revision)}})
	}
	return f
}

// Overtaken is the fault of a change to a revision that is no longer the
// newest: another change was faster, and the newest revision is not known.
func Overtaken() *fault.Error {
	return fault.New(fault.Stale, "STALE_REVISION", "Somebody else has changed this in the meantime. Read it again.").
		With(fault.Field{Pointer: "header/If-Match", Code: "stale", Detail: "No tag in this header is the current one."})
}

// Current is the type of package api.
type Current = api.Current

// stale are the members of STALE_REVISION.
type stale struct {
	Current Current `json:"current,omitzero" doc:"Of STALE_REVISION: the stored revision, where it is known."`
}

// Judged names the revision a verdict is about: by the ETag that was read, or
// by its number in the body.
type Judged struct {
	IfMatch  string
	Revision *int64 // in the body
}

// Check returns the revision that was judged. A verdict is about what a resource
// says: any revision is accepted from stated, the last one that changed that, to
// the newest. Faults: PRECONDITION_REQUIRED when none is named, and "*" names
// none; STALE_REVISION when the resource says something else since;
// REVISION_UNKNOWN for one that never existed; INVALID_PARAMETER. Call it in the
// transaction that stores the verdict.
func (j Judged) Check(stated, newest int64) (int64, error) {
	now := stale{Current{ETag: ETag(newest), Revision: newest}}
	named, at, err := j.named()
	switch {
	case err != nil:
		return 0, err
	case at == "":
		return 0, Overtaken().Showing(now)
	case named < 1 || named > newest:
		return 0, fault.New(fault.Stale, "REVISION_UNKNOWN", fmt.Sprintf("There is no revision %d: the newest is %d. Read it, then name the revision you have read.", named, newest)).
			With(fault.Field{Pointer: at, Code: "unknown", Detail: fmt.Sprintf("Revisions are counted from 1; the newest is %d.", newest)}).Showing(now)
	case named < stated:
		return 0, fault.New(fault.Stale, "STALE_REVISION", "It has changed since the revision you judged. Read it again.").
			With(fault.Field{Pointer: at, Code: "stale", Detail: fmt.Sprintf("Its content changed in revision %d.", stated)}).Showing(now)
	}
	return named, nil
}

// named is the revision that is named, and where; at is "" for a tag that is not
// the one of a revision.
func (j Judged) named() (revision int64, at string, err error) {
	const header = "header/If-Match"
	text := strings.TrimSpace(j.IfMatch)
	if text == "*" {
		text = ""
	}
	switch {
	case text == "" && j.Revision == nil:
		return 0, "", Unnamed(header, "Send the ETag of what you have read, or revision in the body; * names no revision.")
	case text == "":
		return *j.Revision, "/revision", nil
	}
	t, ok := parseTags(text)
	if !ok || len(t.list) != 1 {
		return 0, "", invalidParameter(header, "invalid", `The header must be the one entity tag of what you have judged, such as "7".`)
	}
	if revision, ok = t.list[0].revision(); !ok {
		return 0, "", nil
	}
	if j.Revision != nil && *j.Revision != revision {
		return 0, "", invalidParameter("/revision", "conflict", "If-Match names another revision.")
	}
	return revision, header, nil
}

// Unnamed is the fault of a verdict that does not name its revision; pointer is
// where it should.
func Unnamed(pointer, detail string) error {
	return fault.New(fault.Unconditional, "PRECONDITION_REQUIRED", "A verdict names the revision it is about.").
		With(fault.Field{Pointer: pointer, Code: "required", Detail: detail})
}

func invalidParameter(pointer, code, detail string) *fault.Error {
	return fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
		With(fault.Field{Pointer: pointer, Code: code, Detail: detail})
}

// revision is the number in the strong tag of one.
func (t tag) revision() (int64, bool) {
	n, err := strconv.ParseInt(strings.Trim(t.value, `"`), 10, 64)
	return n, err == nil && !t.weak && ETag(n) == t.value
}

// has reports whether value is among the tags; weak tags count only if weak is
// set.
func (t tags) has(value string, weak bool) bool {
	for _, one := range t.list {
		if one.value == value && (weak || !one.weak) {
			return true
		}
	}
	return false
}

// NotModified reports whether the client of a GET or HEAD already has the
// version with this tag, so that the answer is 304. A header that cannot be
// read is ignored: the whole answer is always right.
func NotModified(r *http.Request, etag string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	sent := r.Header["If-None-Match"]
	if len(sent) == 0 {
		return false
	}
	t, ok := parseTags(strings.Join(sent, ","))
	return ok && (t.any || t.has(strings.TrimPrefix(etag, "W/"), true))
}
