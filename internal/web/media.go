package web

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Media types of bodies.
const (
	mediaJSON       = "application/json"
	mediaMergePatch = "application/merge-patch+json"
	mediaJSONPatch  = "application/json-patch+json"
	mediaForm       = "application/x-www-form-urlencoded"
	mediaFiles      = "multipart/form-data"
)

// checkMedia holds the Content-Type of a body to what the route takes. It
// returns true for a JSON patch. The fault is UNSUPPORTED_MEDIA_TYPE.
//
// "curl -d '{…}'" names its body a form, and people write examples that way. A
// body of that name which begins as JSON does is JSON: no route that decodes
// JSON reads forms. That other sites' pages may send such a body without
// asking (it is a "simple request" of CORS) gives them nothing: callers are
// known by a bearer credential, which a page cannot make a browser add, or by a
// cookie that counts for our own pages only (FromOwnPage); the few routes that
// trust a loopback peer look at Origin and Sec-Fetch-Site themselves
// (IsDirectLoopback).
func (b bodyRules) checkMedia(r *http.Request, body []byte) (jsonPatch bool, err error) {
	if sent := r.Header["Content-Type"]; len(sent) == 1 && sent[0] == mediaJSON { // almost always
		return false, nil
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	good := err == nil
	switch media {
	case mediaJSON:
	case mediaMergePatch:
		good = good && b.patch
	case mediaJSONPatch:
		good = good && b.jsonPatch
	case mediaForm:
		good = good && beginsAsJSON(body)
	default:
		good = false
	}
	if cs := params["charset"]; cs != "" && !strings.EqualFold(cs, "utf-8") {
		good = false
	}
	if good {
		return media == mediaJSONPatch, nil
	}
	want := strings.Join(b.media(), " or ")
	return false, fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "The body must be "+want+".").
		With(fault.Field{Pointer: "header/Content-Type", Code: "unsupported", Detail: "Use " + want + "."})
}

// media are the types to name in the reference and to who sends another.
func (b bodyRules) media() []string {
	switch {
	case b.patch && b.jsonPatch:
		return []string{mediaMergePatch, mediaJSONPatch}
	case b.patch:
		return []string{mediaMergePatch}
	}
	return []string{mediaJSON}
}

func beginsAsJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// IsJSONPatch reports whether the body of the request is a JSON patch: on a
// route with Doc.JSONPatch the client chooses. Then RawBody has the patch, for
// JSONPatch, and Body is not filled.
func IsJSONPatch(ctx context.Context) bool {
	q := infoFrom(ctx)
	return q != nil && q.jsonPatch
}

// JSONPatch applies an RFC 6902 patch to a document and returns the new one;
// either all operations are applied or none. Members keep their order, new ones
// come last, and numbers keep their text. Neither argument is changed.
//
// Faults: JSON_PATCH_INVALID when the patch is not one, with every wrong
// operation named; JSON_PATCH_NOT_APPLICABLE when the document has no such
// place; JSON_PATCH_TEST_FAILED when a test does not hold; JSON_PATCH_TOO_LARGE
// past 1,000 operations, 4 MiB of result or 16 MiB of copying; those of every
// body when it is not strict JSON or nests past 64. The pointer of a field
// names the operation: "/3/path". An error that is not a fault means that the
// document is broken.
func JSONPatch(doc, patch []byte) ([]byte, error) {
	if err := surveyed(patch); err != nil {
		return nil, err
	}
	ops, err := parsePatch(patch)
	switch {
	case fault.As(err) != nil:
		return nil, err
	case err != nil:
		return nil, jsonFault(patch, err)
	}
	return applyPatch(doc, ops)
}

// PatchOp is one operation of a JSON patch, for the API reference.
type PatchOp struct {
	Op    string `json:"op" enum:"add,remove,replace,move,copy,test"`
	Path  string `json:"path" doc:"JSON pointer." example:"/properties/efficiency"`
	From  string `json:"from,omitempty" doc:"JSON pointer, for move and copy."`
	Value any    `json:"value,omitempty" doc:"For add, replace and test."`
}
