package vc

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// shape checks the structure of a document and gathers everything that is wrong.
type shape struct{ fault.Checks }

// shapeOf checks a credential or a presentation by the data model it names.
func shapeOf(m map[string]any, presentation bool) []Reason {
	s := &shape{}
	base := s.context(m)
	s.id(m, "id", "")
	if presentation {
		s.types(m, "", "VerifiablePresentation")
		s.party(m, "holder", false)
		s.shown(m)
		return s.Fields()
	}
	s.types(m, "", "VerifiableCredential")
	s.party(m, "issuer", true)
	s.subject(m)
	if base == ContextV1 {
		s.period(m, "issuanceDate", "expirationDate")
		s.Require(m["issuanceDate"] != nil, "/issuanceDate")
	} else {
		s.period(m, "validFrom", "validUntil")
		s.words(m, "")
	}
	s.parts(m, "credentialStatus", false)
	s.parts(m, "credentialSchema", true)
	for _, name := range []string{"refreshService", "termsOfUse", "evidence"} {
		s.parts(m, name, false)
	}
	s.related(m)
	return s.Fields()
}

// context checks that the first context belongs to a data model, and returns
// it.
func (s *shape) context(m map[string]any) string {
	items, ok := m["@context"].([]any)
	if !ok || len(items) == 0 {
		s.Add("/@context", "context_invalid", "@context is an array whose first item is "+ContextV2+".")
		return ContextV2
	}
	base, _ := items[0].(string)
	if base != ContextV1 && base != ContextV2 {
		s.Add("/@context/0", "context_invalid", "The first context is "+ContextV2+", or "+ContextV1+" for older documents.")
	}
	for i, item := range items[1:] {
		switch item := item.(type) {
		case map[string]any:
			continue
		case string:
			if absolute(item) {
				continue
			}
		}
		s.Add("/@context/"+strconv.Itoa(i+1), "context_invalid", "A context is a URL or an object.")
	}
	return base
}

func (s *shape) id(m map[string]any, name, at string) {
	if v, there := m[name]; there {
		if id, ok := v.(string); !ok || !absolute(id) {
			s.Add(at+"/"+name, "not_a_url", "This is one URL, such as a DID.")
		}
	}
}

// types checks type: one or more texts, among them the one that must be there.
func (s *shape) types(m map[string]any, at, wanted string) {
	all := list(m["type"])
	for _, t := range all {
		if text, ok := t.(string); !ok || text == "" {
			s.Add(at+"/type", "type_invalid", "A type is a term or a URL.")
			return
		}
	}
	switch {
	case len(all) == 0:
		s.Add(at+"/type", "required", "This member is required.")
	case wanted != "" && !slices.Contains(all, any(wanted)):
		s.Add(at+"/type", "type_missing", "One of the types is "+wanted+".")
	}
}

// party checks an issuer or holder: a URL, or an object with one as its id.
func (s *shape) party(m map[string]any, name string, required bool) {
	v, there := m[name]
	if !there && !required {
		return
	}
	if o, ok := v.(map[string]any); ok {
		s.Require(o["id"] != nil, "/"+name+"/id")
		s.id(o, "id", "/"+name)
		s.words(o, "/"+name)
		return
	}
	if id, ok := v.(string); !ok || !absolute(id) {
		s.Add("/"+name, "not_a_url", "This is a URL, such as a DID, or an object with one as its id.")
	}
}

// partyID is the id of an issuer or holder.
func partyID(v any) string {
	if o, ok := v.(map[string]any); ok {
		return text(o, "id")
	}
	id, _ := v.(string)
	return id
}

func (s *shape) subject(m map[string]any) {
	all := list(m["credentialSubject"])
	s.Require(len(all) > 0, "/credentialSubject")
	for i, v := range all {
		at := place("/credentialSubject", m["credentialSubject"], i)
		o, ok := v.(map[string]any)
		if !ok || len(o) == 0 {
			s.Add(at, "subject_empty", "A subject is an object with at least one member.")
			continue
		}
		s.id(o, "id", at)
	}
}

// place is the pointer of an item that may stand alone or in an array.
func place(at string, v any, i int) string {
	if _, several := v.([]any); several {
		return at + "/" + strconv.Itoa(i)
	}
	return at
}

// words checks names and descriptions: texts, or texts with a language and direction.
func (s *shape) words(m map[string]any, at string) {
	for _, name := range []string{"name", "description"} {
		for i, v := range list(m[name]) {
			if _, ok := v.(string); ok {
				continue
			}
			o, ok := v.(map[string]any)
			_, has := o["@value"].(string)
			for key := range o {
				ok = ok && (key == "@value" || key == "@language" || key == "@direction")
			}
			if !ok || !has {
				s.Add(place(at+"/"+name, m[name], i), "text_invalid", "This is a text, or an object with @value, @language and @direction alone.")
			}
		}
	}
}

func (s *shape) period(m map[string]any, from, until string) {
	begin, okBegin := s.moment(m, from)
	end, okEnd := s.moment(m, until)
	if okBegin && okEnd && end.Before(begin) {
		s.Add("/"+until, "period_invalid", until+" is before "+from+".")
	}
}

func (s *shape) moment(m map[string]any, name string) (time.Time, bool) {
	v, there := m[name]
	if !there {
		return time.Time{}, false
	}
	text, _ := v.(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		s.Add("/"+name, "date_invalid", "This is a date and time with an offset, such as 2026-01-31T12:00:00Z.")
	}
	return t, err == nil
}

// parts checks members that are one or more objects, each with a type.
func (s *shape) parts(m map[string]any, name string, needID bool) {
	v, there := m[name]
	if !there {
		return
	}
	all := list(v)
	s.Require(len(all) > 0, "/"+name)
	for i, item := range all {
		at := place("/"+name, v, i)
		o, ok := item.(map[string]any)
		if !ok {
			s.Add(at, "object_expected", "This is an object with a type.")
			continue
		}
		s.types(o, at, "")
		s.Require(!needID || o["id"] != nil, at+"/id")
		s.id(o, "id", at)
	}
}

// related checks digests of related resources. Of those that are known here the
// digest must be right; others are not fetched.
func (s *shape) related(m map[string]any) {
	v, there := m["relatedResource"]
	if !there {
		return
	}
	seen := map[string]bool{}
	for i, item := range list(v) {
		at := place("/relatedResource", v, i)
		o, ok := item.(map[string]any)
		if !ok {
			s.Add(at, "object_expected", "A related resource is an object with id and a digest.")
			continue
		}
		id := text(o, "id")
		s.Require(o["id"] != nil, at+"/id")
		s.id(o, "id", at)
		if seen[id] {
			s.Add(at+"/id", "duplicate", "Another related resource has this id.")
		}
		seen[id] = true
		s.digests(o, id, at)
	}
}

// earlier are digests of editions of a context that were published at the same
// address before the one embedded here; credentials of that time name them.
var earlier = map[string][]string{
	ContextV2: {
		"24a18c90e9856d526111f29376e302d970b2bd10182e33959995b0207d7043b9",
		"35239c36999d2155312091af194a1edb61634d6ad789a5e5b19f2aebdd762dd9d1dcaada40eda7ef921c6b8c0ae107a0",
	},
}

func (s *shape) digests(o map[string]any, id, at string) {
	sri, multi := text(o, "digestSRI"), text(o, "digestMultibase")
	if sri == "" && multi == "" {
		s.Add(at, "digest_missing", "A related resource has digestSRI or digestMultibase.")
		return
	}
	file, known := contextNames[id]
	if !known {
		return
	}
	body, err := contextFiles.ReadFile("contexts/" + file)
	if err != nil {
		return // the list above and the folder agree; a test holds it
	}
	match := func(sum []byte) bool {
		small, middle, large := sha256.Sum256(body), sha512.Sum384(body), sha512.Sum512(body)
		return slices.ContainsFunc([][]byte{small[:], middle[:], large[:]}, func(own []byte) bool { return slices.Equal(own, sum) }) ||
			slices.Contains(earlier[id], hex.EncodeToString(sum))
	}
	if sri != "" && !match(unSRI(sri)) {
		s.Add(at+"/digestSRI", "digest_mismatch", "The digest is not that of the resource.")
	}
	if multi != "" && !match(unMultihash(multi)) {
		s.Add(at+"/digestMultibase", "digest_mismatch", "The digest is not that of the resource.")
	}
}

// unSRI reads "sha384-…" in either alphabet of base 64.
func unSRI(s string) []byte {
	_, encoded, _ := strings.Cut(s, "-")
	encoded = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	sum, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	return sum
}

// unMultihash reads a digest, bare or with the two bytes that say which it is.
func unMultihash(s string) []byte {
	sum, err := did.DecodeMultibase(s)
	if err != nil {
		return nil
	}
	if len(sum) > 2 && int(sum[1]) == len(sum)-2 && (sum[0] == 0x12 || sum[0] == 0x20 || sum[0] == 0x13) {
		return sum[2:]
	}
	return sum
}

// shown checks the credentials of a presentation: objects, each verified
// separately.
func (s *shape) shown(m map[string]any) {
	v, there := m["verifiableCredential"]
	if !there {
		return
	}
	all := list(v)
	if len(all) > maxShown {
		s.Add("/verifiableCredential", "too_large", "A presentation has at most "+strconv.Itoa(maxShown)+" credentials.")
	}
	for i, item := range all {
		if _, ok := item.(map[string]any); !ok {
			s.Add(place("/verifiableCredential", v, i), "object_expected", "A credential is an object.")
		}
	}
}
