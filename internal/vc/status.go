package vc

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Sizes of status lists, in places. A list is never smaller than the least, so that
// a place in it says nothing about its credential.
const (
	MinPlaces = 131_072
	maxPlaces = 1 << 27 // 16 MiB when unpacked
)

// ErrStatusList means that a status list cannot be read.
var ErrStatusList = errors.New("not a status list")

// StatusList is a Bitstring Status List: one bit for each place.
type StatusList struct{ bits []byte }

// NewStatusList makes a list with no bit set. It has MinPlaces places or more.
func NewStatusList(places int) *StatusList {
	return &StatusList{make([]byte, (max(places, MinPlaces)+7)/8)}
}

// Len is the number of places in the list.
func (l *StatusList) Len() int { return len(l.bits) * 8 }

// Set sets or clears the bit of a place. The first place is the highest bit of the
// first byte.
func (l *StatusList) Set(place int, on bool) {
	mask := byte(0x80) >> (place % 8)
	if on {
		l.bits[place/8] |= mask
	} else {
		l.bits[place/8] &^= mask
	}
}

// Get reports whether the bit of a place is set; false for a place outside the list.
func (l *StatusList) Get(place int) bool {
	return place >= 0 && place < l.Len() && l.bits[place/8]&(0x80>>(place%8)) != 0
}

// Encode encodes the list for the member encodedList: compressed, in base64.
func (l *StatusList) Encode() (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(l.bits); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return "u" + base64.RawURLEncoding.EncodeToString(b.Bytes()), nil
}

// DecodeStatusList reads an encodedList. It returns ErrStatusList for anything else,
// and for lists that are too small or unpack to more than 16 MiB.
func DecodeStatusList(s string) (*StatusList, error) {
	encoded, ok := strings.CutPrefix(s, "u")
	packed, err := base64.RawURLEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return nil, ErrStatusList
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, ErrStatusList
	}
	bits, err := io.ReadAll(io.LimitReader(z, maxPlaces/8+1))
	if err != nil || len(bits) > maxPlaces/8 || len(bits)*8 < MinPlaces {
		return nil, ErrStatusList
	}
	return &StatusList{bits}, nil
}

// StatusPlace is a place in a list, as a credential names it.
type StatusPlace struct {
	List    string // address of the list's credential
	Purpose string
	Place   int
	Issuer  string // of the credential that names it
	at      string // pointer to the entry
}

// readEntry reads a credentialStatus of type BitstringStatusListEntry. The reason is
// status_invalid; ok is false for other types.
func readEntry(o map[string]any, at string) (e StatusPlace, ok bool, err error) {
	if text(o, "type") != "BitstringStatusListEntry" {
		return e, false, nil
	}
	e = StatusPlace{at: at, Purpose: text(o, "statusPurpose"), List: text(o, "statusListCredential")}
	if size, there := o["statusSize"]; there && size != 1.0 {
		return e, true, fail(at+"/statusSize", "status_invalid", "Statuses of one bit are checked.")
	}
	e.Place, err = strconv.Atoi(text(o, "statusListIndex"))
	if err != nil || e.Place < 0 || e.Purpose == "" || !absolute(e.List) {
		return e, true, fail(at, "status_invalid", "A status has statusPurpose, statusListIndex (digits) and statusListCredential (a URL).")
	}
	return e, true, nil
}

// In looks a place up in the credential of its list. The reasons are
// status_unavailable and status_invalid.
func (e StatusPlace) In(raw jsontext.Value) (bool, error) {
	d, err := parse(raw)
	if err != nil {
		return false, err
	}
	m := d.members
	wrong := fail(e.at, "status_unavailable", "The status list of this credential cannot be read.")
	subject, ok := m["credentialSubject"].(map[string]any)
	if !ok || text(subject, "type") != "BitstringStatusList" {
		return false, wrong
	}
	found := false
	for _, purpose := range list(subject["statusPurpose"]) {
		found = found || purpose == e.Purpose
	}
	if !found {
		return false, fail(e.at+"/statusPurpose", "status_invalid", "The list is for another purpose.")
	}
	l, err := DecodeStatusList(text(subject, "encodedList"))
	if err != nil {
		return false, wrong
	}
	if err := e.Within(l.Len()); err != nil {
		return false, err
	}
	return l.Get(e.Place), nil
}

// Within is the reason status_invalid for a place outside a list of so many.
func (e StatusPlace) Within(places int) error {
	if e.Place >= places {
		return fail(e.at+"/statusListIndex", "status_invalid", "The list has no such place.")
	}
	return nil
}

// Borrowed is the reason status_invalid for another issuer's list, which says nothing
// about this credential.
func (e StatusPlace) Borrowed() error {
	return fail(e.at+"/statusListCredential", "status_invalid", "The list is that of another issuer.")
}
