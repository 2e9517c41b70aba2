package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// A key's text is "hearth_" + 10 characters of a-z2-7, the public prefix that
// finds it in lists and logs, + "_" + 43 characters of base64url, 256 random
// bits. Secret scanners know it by ^hearth_[a-z2-7]{10}_[A-Za-z0-9_-]{43}$.
const (
	textMark     = "hearth_"
	prefixLength = 10
	secretLength = 43
)

// The length of a key's text that the operator chose, in characters. The
// upper bound is far past any honest one and keeps hashing cheap.
const (
	minOwnerKey = 32
	maxText     = 512
)

// Digest is the SHA-256 of a key's text, the only form in which it is stored.
type Digest [sha256.Size]byte

func digest(text string) Digest { return sha256.Sum256([]byte(text)) }

// newText makes the text of a key.
func newText() string {
	return textMark + base32Text(random(8))[:prefixLength] + "_" + base64.RawURLEncoding.EncodeToString(random(32))
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the program ends instead
	return b
}

func base32Text(b []byte) string { return strings.ToLower(base32.StdEncoding.EncodeToString(b)) }

// publicPrefix is the part of a key's text that may be shown. Text in another
// form than ours was chosen by the operator and none of it is public: its
// prefix is made from a hash of its hash.
func publicPrefix(text string) string {
	if ownForm(text) {
		return text[:len(textMark)+prefixLength]
	}
	sum := digest(text)
	again := sha256.Sum256(sum[:])
	return "given_" + base32Text(again[:])[:prefixLength]
}

func ownForm(text string) bool {
	rest, ok := strings.CutPrefix(text, textMark)
	return ok && len(rest) == prefixLength+1+secretLength && rest[prefixLength] == '_' &&
		strings.Trim(rest[:prefixLength], "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// checkOwnerKey refuses a HEARTH_OWNER_KEY that is easy to guess or that no
// header can carry.
func checkOwnerKey(text string) error {
	n := len([]rune(text))
	unsendable := strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	if n < minOwnerKey || len(text) > maxText || unsendable {
		return fault.New(fault.Invalid, "OWNER_KEY_INVALID",
			"HEARTH_OWNER_KEY must have 32 characters or more, 512 bytes at most, no control characters and no space at its ends.")
	}
	return nil
}

// Key is the record of an API key, without its text.
type Key struct {
	ID         string    `json:"id" doc:"Ordered by time of creation." example:"key_01890a5d-ac96-774b-bcce-b302099a8057"`
	Workspace  string    `json:"workspace"`
	Principal  string    `json:"principal" doc:"DID the key speaks for."`
	Name       string    `json:"name"`
	Prefix     string    `json:"prefix" doc:"The public beginning of the key's text."`
	Scopes     []string  `json:"scopes" doc:"What the key may do. member means the scopes that the groups of its principal give."`
	Projects   []string  `json:"projects,omitempty" doc:"When given, only these projects exist for the key."`
	Networks   []string  `json:"networks,omitempty" doc:"When given, the key works from these networks only."`
	Status     Status    `json:"status" enum:"active,rotated,expired,revoked" doc:"rotated means replaced, but valid until graceUntil."`
	CreatedBy  string    `json:"createdBy" doc:"DID of whoever made it."`
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	RevokedAt  time.Time `json:"revokedAt,omitzero"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero" doc:"Accurate to about a minute. Updating it does not count as a change of the record."`
	GraceUntil time.Time `json:"graceUntil,omitzero" doc:"Until when a replaced key still works."`
	Replaces   string    `json:"replaces,omitempty" doc:"The key this one was rotated from."`
	ReplacedBy string    `json:"replacedBy,omitempty" doc:"The key that was made when this one was rotated."`
	BoundTo    []string  `json:"boundTo,omitempty" doc:"DIDs of the callers who made or rotated it with rights from their groups, followed by # and the key they signed with, if they signed. At each use this key has at most the rights that the groups of every one of them give at that moment; when they give none, it does not work."`
	Revision   int64     `json:"revision"`

	hash Digest
}

// Status says whether a key works.
type Status string

// The states of a key.
const (
	Active  Status = "active"
	Rotated Status = "rotated" // replaced, and in its grace period
	Expired Status = "expired"
	Revoked Status = "revoked"
)

// byGroups reports whether the key takes its rights from groups.
func (k *Key) byGroups() bool { return slices.Contains(k.Scopes, member) }

// rights identifies what a key may do: equal for keys that were made alike and, if
// groups give them their scopes, have the same ones now. A key that loses a right no
// longer sees what was said with it.
func (k *Key) rights(now []string) string {
	if !k.byGroups() && len(k.BoundTo) == 0 {
		now = nil
	}
	var b strings.Builder
	for _, list := range [][]string{k.Scopes, k.Projects, k.BoundTo, now} {
		for _, one := range slices.Sorted(slices.Values(list)) {
			b.WriteString(one + "\n")
		}
		b.WriteString("\n")
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:16])
}

// lasting reports whether the key is an owner's in the whole workspace, from anywhere,
// without an end and independent of groups. Each workspace keeps one, or nobody could
// make the next.
func (k *Key) lasting() bool {
	return slices.Contains(k.Scopes, all) && len(k.Projects) == 0 && len(k.Networks) == 0 &&
		k.until().IsZero() && k.RevokedAt.IsZero() && k.ReplacedBy == "" && len(k.BoundTo) == 0
}

// until is the moment from which the key is expired; zero is never.
func (k *Key) until() time.Time { return earlier(k.ExpiresAt, k.GraceUntil) }

// earlier is the first of two moments of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// at gives the record with its status at a moment.
func (k *Key) at(now time.Time) *Key {
	switch u := k.until(); {
	case !k.RevokedAt.IsZero():
		k.Status = Revoked
	case !u.IsZero() && !now.Before(u):
		k.Status = Expired
	case k.ReplacedBy != "":
		k.Status = Rotated
	default:
		k.Status = Active
	}
	return k
}

// Issued is a key that was just made, with its text. It is shown once.
type Issued struct {
	Key
	Text string `json:"key" doc:"The key itself. Keep it now: it is never shown again." example:"hearth_abcdefghij_0123456789012345678901234567890123456789012"`
}

// String leaves the text out, so that no print of the value shows it.
func (i Issued) String() string { return i.ID + " (" + i.Prefix + ")" }

// LogValue leaves the text out of logs.
func (i Issued) LogValue() slog.Value { return slog.StringValue(i.String()) }

// Limits of a draft. They are far above use and keep records small.
const (
	maxName = 200 // characters
	maxList = 100 // members of scopes, projects and networks, each
)

// Draft asks for a key.
type Draft api.KeyDraft

// Validate names every wrong member at once, in a fault KEY_DRAFT_INVALID.
func (d Draft) Validate(now time.Time) error {
	var c fault.Checks
	checkName(&c, "/name", d.Name)
	if d.Role != "" && findRole(d.Role) == nil {
		c.Add("/role", "unknown", "There is no such role. The roles are "+roleNames()+".")
	}
	if d.Role == "" && len(d.Scopes) == 0 {
		c.Add("/scopes", "required", "Give scopes, a role, or both.")
	}
	if d.Role == member && len(d.Scopes) > 0 {
		c.Add("/scopes", "not_allowed", "A member has the scopes its groups give and no others.")
	}
	check.Each(&c, "/scopes", d.Scopes, maxList, WrongScope)
	if d.Principal != "" && !did.Valid(d.Principal) {
		c.Add("/principal", "not_a_did", "The value must be a DID.")
	}
	check.Each(&c, "/projects", d.Projects, maxList, func(s string) string {
		if !did.Valid(s) {
			return "The value must be a DID."
		}
		return ""
	})
	check.Each(&c, "/networks", d.Networks, maxList, func(s string) string {
		if _, err := web.ParseNetworks([]string{s}); err != nil {
			return "The value must be a network such as 192.0.2.0/24, or an address."
		}
		return ""
	})
	if !d.ExpiresAt.IsZero() && !d.ExpiresAt.After(now) {
		c.Add("/expiresAt", "in_the_past", "The time must be in the future.")
	}
	if d.ExpiresAt.UTC().Year() > 9999 {
		c.Add("/expiresAt", "out_of_range", "The time must be before the year 10000 in UTC.")
	}
	return c.Err("KEY_DRAFT_INVALID", "The new key is not valid.")
}

// scopes returns the scopes of the role and the list, sorted, each once.
func (d Draft) scopes() []string {
	out := slices.Clone(d.Scopes)
	if r := findRole(d.Role); r != nil {
		out = append(out, r.Scopes...)
	}
	return tidy(out)
}

func tidy(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// tidyNetworks writes each network in its one canonical form.
func tidyNetworks(list []string) []string {
	networks := parsed(list)
	out := make([]string, len(networks))
	for i, n := range networks {
		out[i] = n.String()
	}
	return tidy(out)
}

// parsed reads networks that Validate has let pass.
func parsed(list []string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, text := range list {
		if n, err := web.ParseNetworks([]string{text}); err == nil {
			out = append(out, n...)
		}
	}
	return out
}

// within reports whether every network of inner lies inside one of outer.
func within(inner, outer []netip.Prefix) bool {
	return !slices.ContainsFunc(inner, func(in netip.Prefix) bool {
		return !slices.ContainsFunc(outer, func(out netip.Prefix) bool {
			return out.Bits() <= in.Bits() && out.Contains(in.Addr())
		})
	})
}

// Rotation asks for a new text under a new id.
type Rotation struct {
	GraceSeconds *int64 `json:"graceSeconds,omitempty" minimum:"0" maximum:"86400" doc:"How long the old key still works: 3600 by default, 0 ends it at once." example:"600"`
}

const (
	defaultGrace = time.Hour
	maxGrace     = 24 * time.Hour
)

// Validate names what is wrong, in a fault ROTATION_INVALID.
func (r Rotation) Validate() error {
	var c fault.Checks
	if g := r.GraceSeconds; g != nil && (*g < 0 || *g > int64(maxGrace/time.Second)) {
		c.Add("/graceSeconds", "out_of_range", "The value must be from 0 to 86400.")
	}
	return c.Err("ROTATION_INVALID", "The rotation of the key is not valid.")
}

func (r Rotation) grace() time.Duration {
	if r.GraceSeconds == nil {
		return defaultGrace
	}
	return time.Duration(*r.GraceSeconds) * time.Second
}
