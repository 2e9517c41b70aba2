package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	cursorVersion = 1
	cursorMAC     = 16   // bytes of HMAC-SHA256 that are kept
	maxCursor     = 4096 // characters
	minCursorKey  = 16   // bytes
)

// Cursors signs positions in lists. A cursor is opaque to clients and works
// only for the workspace, route and filter it was made for; it is signed, not
// encrypted, so a position must hold nothing its reader may not see.
type Cursors struct {
	Key []byte // at least 16 random bytes
}

// CursorScope identifies the list of a cursor.
type CursorScope struct {
	Workspace string
	Route     string // the path of the list
	Filter    string // all that shapes the list; see FilterOf
}

// FilterOf is the part of a query that selects a list: everything but the
// cursor and the page size, in a fixed order.
func FilterOf(query url.Values) string {
	rest := url.Values{}
	for name, values := range query {
		if name != "cursor" && name != "limit" {
			rest[name] = values
		}
	}
	return rest.Encode()
}

// Encode makes the cursor of a position, which must be a JSON value.
func (c Cursors) Encode(scope CursorScope, position any) (string, error) {
	if len(c.Key) < minCursorKey {
		return "", errors.New("encode cursor: the key is too short")
	}
	payload, err := json.Marshal(position)
	if err != nil {
		return "", fmt.Errorf("encode cursor: %w", err)
	}
	raw := append([]byte{cursorVersion}, payload...)
	raw = append(raw, c.sign(scope, raw)...)
	if base64.RawURLEncoding.EncodedLen(len(raw)) > maxCursor {
		return "", errors.New("encode cursor: the position is too long")
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// Decode reads a cursor made by Encode for the same scope into position. Any
// other text is the fault INVALID_CURSOR.
func (c Cursors) Decode(scope CursorScope, cursor string, position any) error {
	if len(c.Key) < minCursorKey {
		return errors.New("decode cursor: the key is too short")
	}
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") { // the decoder skips line ends
		return invalidCursor()
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < 1+cursorMAC || raw[0] != cursorVersion {
		return invalidCursor()
	}
	signed, mac := raw[:len(raw)-cursorMAC], raw[len(raw)-cursorMAC:]
	if !hmac.Equal(mac, c.sign(scope, signed)) {
		return invalidCursor()
	}
	if err := json.Unmarshal(signed[1:], position, json.RejectUnknownMembers(true)); err != nil {
		// Signed by us, but by a release whose positions looked different.
		return invalidCursor().Wrap(err)
	}
	return nil
}

// sign covers the scope too, each part with its length before it, so that no
// two scopes give the same bytes.
func (c Cursors) sign(scope CursorScope, data []byte) []byte {
	var msg []byte
	for _, part := range []string{"hearth cursor", scope.Workspace, scope.Route, scope.Filter} {
		msg = binary.AppendUvarint(msg, uint64(len(part)))
		msg = append(msg, part...)
	}
	h := hmac.New(sha256.New, c.Key)
	_, _ = h.Write(msg) // a hash never fails
	_, _ = h.Write(data)
	return h.Sum(nil)[:cursorMAC]
}

func invalidCursor() *fault.Error {
	return fault.New(fault.Invalid, "INVALID_CURSOR", "The cursor does not belong to this list. Start again without it.").
		With(fault.Field{Pointer: "query/cursor", Code: "invalid", Detail: "Use a nextCursor of the same list and filter."})
}
