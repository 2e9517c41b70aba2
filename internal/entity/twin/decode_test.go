package twin_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// TestDecode compares the record reader with the decoder of requests, over all members
// there are and whatever a record may have in them.
func TestDecode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var e twin.Entity
		fillAny(t, reflect.ValueOf(&e).Elem(), "e")
		if body, err := e.Encode(); err == nil { // else it is no record
			sameAsDecoder(t, body)
		}
	})
}

// TestDecodeAny: the two ends, records of earlier versions and what is no record. What
// the reader does not know it leaves to the decoder of requests.
func TestDecodeAny(t *testing.T) {
	t.Parallel()
	full, plain := twin.Entity{}, plainRecord(3)
	fillAll(reflect.ValueOf(&full).Elem())
	bodies := [][]byte{nil, []byte(`{}`), []byte(`{"did":"did:x:1","relationships":[],"new":1}`), []byte(`{"did":`), []byte(`[]`), []byte(`null`)}
	for _, e := range []*twin.Entity{{}, &full, plain} {
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body, append(bytes.Clone(body), ' '), append(bytes.Clone(body), '}'), bytes.Replace(body, []byte(`"type":`), []byte(`"kind":`), 1))
	}
	for _, body := range bodies {
		sameAsDecoder(t, body)
	}
}

// TestDecodeCut: a record that ends too early is refused wherever that is.
func TestDecodeCut(t *testing.T) {
	t.Parallel()
	body, err := plainRecord(2).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for n := range body {
		if _, err := twin.Decode(body[:n]); err == nil {
			t.Fatalf("Decode(%s) takes what is no record", body[:n])
		}
	}
}

// sameAsDecoder wants both to read the same, or to refuse it alike.
func sameAsDecoder(t rapid.TB, body []byte) {
	t.Helper()
	want := new(twin.Entity)
	wantErr := json.Unmarshal(body, want)
	got, err := twin.Decode(body)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("Decode(%s) = %v, want %v", body, err, wantErr)
	}
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		t.Fatalf("Decode(%s) (-want +got):\n%s", body, diff)
	}
}

// plainRecord is a record with n relationships and credentials.
func plainRecord(n int) *twin.Entity {
	e := &twin.Entity{
		DID: "did:ixo:entity:175d7824ba25002e4ec206365e206236", Type: "Stove", Class: "physical", DomainType: "device", Controller: "did:key:z6Mk",
		Controllers: []string{"did:key:z6Mk"}, Properties: twin.Object{Value: jsontext.Value(`{"serial":"SN-1","say":"\"}","in":{"a":[1,{}]}}`)},
		ExternalIDs: map[string]string{"erp": "7", "meter": "é"}, Verification: twin.Verification{Status: "verified", Approvals: []twin.Approval{{Oracle: "did:x:o", Timestamp: time.Unix(1e9, 0), Revision: 2}}},
		Created: time.Unix(1e9, 0), Updated: time.Unix(1e9, 1e6), Links: twin.LinksOf("did:ixo:entity:175d7824ba25002e4ec206365e206236"),
	}
	for i := range n {
		e.Relationships = append(e.Relationships, twin.Relationship{ID: fmt.Sprint("rel_7310428377", 145344+i), Role: "produces", Target: fmt.Sprintf("did:ixo:entity:%032d", i), Source: "declared"})
		e.VerifiableCredential = append(e.VerifiableCredential, twin.Credential{ID: fmt.Sprintf("did:ixo:entity:%032d", 1000+i), Type: "Credential", Issuer: "did:ixo:entity:175d7824ba25002e4ec206365e206237", Status: "active"})
	}
	e.Normal()
	return e
}

// BenchmarkDecode shows what reading a record costs, beside the decoder of requests.
func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{2, 64} {
		body, err := plainRecord(n).Encode()
		if err != nil {
			b.Fatal(err)
		}
		for name, decode := range map[string]func() error{
			"reader": func() error { _, err := twin.Decode(body); return err },
			"json":   func() error { return json.Unmarshal(body, new(twin.Entity)) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if err := decode(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
