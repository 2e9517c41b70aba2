package twin

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads a stored record, in less than half of the time of the decoder of
// requests, because every revision of every twin begins with the previous one. It
// expects the members as Encode writes them and trusts their texts, which Encode has
// checked. It leaves anything else, such as records of earlier versions, to that
// decoder. A test compares both over all members, so a new one cannot be forgotten here.
func Decode(body []byte) (*Entity, error) {
	e := new(Entity)
	r := recordReader{reader{all: string(body)}}
	r.open()
	r.head(e)
	r.lists(e)
	r.tail(e)
	r.shut()
	if !r.odd && r.at == len(r.all) {
		return e, nil
	}
	e = new(Entity)
	return e, json.Unmarshal(body, e)
}

// recordReader reads the parts of a record, in the order of recordWriter.
type recordReader struct{ reader }

func (r *recordReader) head(e *Entity) {
	r.text(`"did":`, &e.DID)
	r.text(`"type":`, &e.Type)
	r.text(`"class":`, &e.Class)
	r.text(`"domainType":`, &e.DomainType)
	r.text(`"controller":`, &e.Controller)
	r.texts(`"controllers":`, &e.Controllers)
	r.text(`"owner":`, &e.Owner)
	r.text(`"protocol":`, &e.Protocol)
	r.text(`"protocolVersion":`, &e.ProtocolVersion)
	r.some(`"project":`, &e.Project)
	r.object(`"properties":`, &e.Properties)
}

func (r *recordReader) lists(e *Entity) {
	readEach(&r.reader, `"services":`, &e.Services, func(x *Endpoint) {
		r.text(`"id":`, &x.ID)
		r.text(`"type":`, &x.Type)
		r.text(`"endpoint":`, &x.Endpoint)
	})
	readEach(&r.reader, `"relationships":`, &e.Relationships, r.relationship)
	r.mark(`"moreRelationships":`, &e.MoreRelationships)
	r.texts(`"missingRelationships":`, &e.MissingRelationships)
	readEach(&r.reader, `"verifiableCredential":`, &e.VerifiableCredential, func(x *Credential) {
		r.some(`"id":`, &x.ID)
		r.text(`"type":`, &x.Type)
		r.text(`"issuer":`, &x.Issuer)
		r.some(`"status":`, &x.Status)
	})
	r.mark(`"moreCredentials":`, &e.MoreCredentials)
	readEach(&r.reader, `"linkedResources":`, &e.LinkedResources, r.resource)
	readEach(&r.reader, `"linkedClaims":`, &e.LinkedClaims, r.resource)
	readEach(&r.reader, `"linkedEntities":`, &e.LinkedEntities, func(x *LinkedEntity) {
		r.text(`"id":`, &x.ID)
		r.text(`"type":`, &x.Type)
		r.text(`"relationship":`, &x.Relationship)
		r.some(`"service":`, &x.Service)
	})
	readEach(&r.reader, `"accordedRights":`, &e.AccordedRights, func(x *AccordedRight) {
		r.text(`"id":`, &x.ID)
		r.text(`"type":`, &x.Type)
		r.some(`"mechanism":`, &x.Mechanism)
		r.some(`"message":`, &x.Message)
		r.some(`"service":`, &x.Service)
	})
	readEach(&r.reader, `"accounts":`, &e.Accounts, func(x *Account) {
		r.text(`"name":`, &x.Name)
		r.text(`"address":`, &x.Address)
	})
	r.texts(`"alsoKnownAs":`, &e.AlsoKnownAs)
}

func (r *recordReader) relationship(x *Relationship) {
	r.text(`"id":`, &x.ID)
	r.text(`"role":`, &x.Role)
	r.text(`"target":`, &x.Target)
	r.mark(`"external":`, &x.External)
	r.mark(`"unconfirmed":`, &x.Unconfirmed)
	r.moment(`"since":`, &x.Since)
	r.moment(`"until":`, &x.Until)
	r.text(`"source":`, &x.Source)
}

func (r *recordReader) resource(x *LinkedResource) {
	r.text(`"id":`, &x.ID)
	r.text(`"type":`, &x.Type)
	r.some(`"description":`, &x.Description)
	r.some(`"mediaType":`, &x.MediaType)
	r.some(`"serviceEndpoint":`, &x.ServiceEndpoint)
	r.some(`"proof":`, &x.Proof)
	r.some(`"encrypted":`, &x.Encrypted)
	r.some(`"right":`, &x.Right)
}

func (r *recordReader) tail(e *Entity) {
	r.externals(&e.ExternalIDs)
	var status string
	r.text(`"status":`, &status)
	e.Status = Status(status)
	var code int64
	r.number(`"statusCode":`, &code)
	e.StatusCode = int(code)
	r.verification(&e.Verification)
	r.moment(`"startDate":`, &e.StartDate)
	r.moment(`"endDate":`, &e.EndDate)
	r.text(`"relayerNode":`, &e.RelayerNode)
	r.object(`"metadata":`, &e.Metadata)
	r.number(`"revision":`, &e.Revision)
	r.time(`"created":`, &e.Created)
	r.time(`"updated":`, &e.Updated)
	r.text(`"createdBy":`, &e.CreatedBy)
	r.text(`"updatedBy":`, &e.UpdatedBy)
	r.some(`"statedBy":`, &e.StatedBy)
	r.must(`"links":`)
	r.open()
	r.text(`"self":`, &e.Links.Self)
	r.text(`"history":`, &e.Links.History)
	r.text(`"relationships":`, &e.Links.Relationships)
	r.text(`"graph":`, &e.Links.Graph)
	r.text(`"didDocument":`, &e.Links.DIDDocument)
	r.shut()
	if r.begins(`"withheld":`) {
		r.texts(`"withheld":`, &e.Withheld)
	}
}

func (r *recordReader) externals(to *map[string]string) {
	r.must(`"externalIds":`)
	r.open()
	*to = map[string]string{}
	for !r.odd && r.next() != '}' {
		r.comma()
		scheme := r.quoted()
		r.take(':')
		(*to)[scheme] = r.quoted()
	}
	r.shut()
}

func (r *recordReader) verification(v *Verification) {
	r.must(`"verification":`)
	r.open()
	r.text(`"status":`, &v.Status)
	r.some(`"verifier":`, &v.Verifier)
	r.moment(`"timestamp":`, &v.Timestamp)
	r.some(`"evidence":`, &v.Evidence)
	r.count(`"revision":`, &v.Revision)
	if r.begins(`"approvals":`) {
		readEach(&r.reader, `"approvals":`, &v.Approvals, func(x *Approval) {
			r.text(`"oracle":`, &x.Oracle)
			r.text(`"verifier":`, &x.Verifier)
			r.time(`"timestamp":`, &x.Timestamp)
			r.count(`"revision":`, &x.Revision)
		})
	}
	var missing int64
	r.count(`"missing":`, &missing)
	v.Missing = int(missing)
	r.shut()
}

// reader takes members off a text as writer puts them there.
type reader struct {
	all   string
	at    int
	first bool // nothing stands before the next value in its object or list
	many  bool // there can be many values like the present one
	odd   bool // something differs from what writer writes; the result cannot be used
}

// next is the byte that comes next, 0 at the end.
func (r *reader) next() byte {
	if r.at >= len(r.all) {
		return 0
	}
	return r.all[r.at]
}

// take takes a byte that must be there.
func (r *reader) take(c byte) {
	if r.next() != c {
		r.odd = true
		return
	}
	r.at++
}

func (r *reader) open() {
	r.take('{')
	r.first = true
}

func (r *reader) shut() {
	r.take('}')
	r.first = false
}

// comma takes what parts a value from the one before it.
func (r *reader) comma() {
	if !r.first {
		r.take(',')
	}
	r.first = false
}

// begins reports whether a member comes next.
func (r *reader) begins(name string) bool {
	at := r.at
	if !r.first {
		if r.next() != ',' {
			return false
		}
		at++
	}
	return !r.odd && strings.HasPrefix(r.all[at:], name)
}

// maybe takes the name of a member that may be absent.
func (r *reader) maybe(name string) bool {
	if !r.begins(name) {
		return false
	}
	r.comma()
	r.at += len(name)
	return true
}

// must takes the name of a member.
func (r *reader) must(name string) {
	if !r.maybe(name) {
		r.odd = true
	}
}

// raw takes a text as a part of all. One with an escape is odd.
func (r *reader) raw() string {
	r.take('"')
	rest := r.all[r.at:]
	n := strings.IndexByte(rest, '"')
	if r.odd || n < 0 || strings.IndexByte(rest[:n], '\\') >= 0 {
		r.odd = true
		return ""
	}
	r.at += n + 1
	return rest[:n]
}

// quoted reads a text. Texts of lists share the memory of the record, because nobody
// keeps them longer than the record. Others may be kept longer, and must not keep a
// whole record in memory.
func (r *reader) quoted() string {
	text := r.raw()
	if !r.many {
		text = strings.Clone(text)
	}
	return text
}

func (r *reader) text(name string, to *string) {
	r.must(name)
	*to = r.quoted()
}

func (r *reader) some(name string, to *string) {
	if r.maybe(name) {
		*to = r.quoted()
	}
}

func (r *reader) mark(name string, to *bool) {
	if r.maybe(name) {
		*to = strings.HasPrefix(r.all[r.at:], "true")
		r.at, r.odd = r.at+len("true"), r.odd || !*to
	}
}

func (r *reader) moment(name string, to *time.Time) {
	if r.begins(name) {
		r.time(name, to)
	}
}

func (r *reader) time(name string, to *time.Time) {
	r.must(name)
	at, err := time.Parse(time.RFC3339, r.raw())
	*to, r.odd = at, r.odd || err != nil
}

func (r *reader) number(name string, to *int64) {
	r.must(name)
	begin := r.at
	for c := r.next(); c >= '0' && c <= '9' || c == '-'; c = r.next() {
		r.at++
	}
	n, err := strconv.ParseInt(r.all[begin:r.at], 10, 64)
	*to, r.odd = n, r.odd || err != nil
}

// count is number that may be absent.
func (r *reader) count(name string, to *int64) {
	if r.begins(name) {
		r.number(name, to)
	}
}

// object takes a client's JSON unchanged.
func (r *reader) object(name string, to *Object) {
	r.must(name)
	if r.odd || r.next() != '{' {
		r.odd = true
		return
	}
	depth, rest := 0, r.all[r.at:]
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			for i++; i < len(rest) && rest[i] != '"'; i++ {
				if rest[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				to.Value, r.at = jsontext.Value(rest[:i+1]), r.at+i+1
				return
			}
		}
	}
	r.odd = true
}

func (r *reader) texts(name string, to *[]string) {
	r.must(name)
	r.take('[')
	r.first = true
	*to = []string{}
	for !r.odd && r.next() != ']' {
		r.comma()
		*to = append(*to, r.quoted())
	}
	r.take(']')
	r.first = false
}

// readEach takes a list of objects.
func readEach[T any](r *reader, name string, to *[]T, one func(*T)) {
	r.must(name)
	r.take('[')
	r.first, r.many = true, true
	*to = []T{}
	begin, end := r.at, r.at+strings.Index(r.all[r.at:], "}]") // as far as no text of theirs has this
	for !r.odd && r.next() != ']' {
		r.comma()
		r.open()
		if len(*to) == 1 && end > r.at { // the others are about as long
			*to = append(make([]T, 0, 2+(end-r.at)/(r.at-begin)), (*to)[0])
		}
		var zero T
		*to = append(*to, zero)
		one(&(*to)[len(*to)-1])
		r.shut()
	}
	r.take(']')
	r.first, r.many = false, false
}
