package resolve

import (
	"strings"
	"testing"
)

func TestNegotiate(t *testing.T) {
	t.Parallel()
	const none = "-"
	for _, tt := range []struct{ accept, result, document string }{
		{"", mediaJSON, mediaDIDJSON},
		{"*/*", mediaJSON, mediaDIDJSON},
		{"application/*", mediaJSON, mediaDIDJSON},
		{"application/json", mediaJSON, mediaJSON},
		{"application/did-resolution", mediaResolution, mediaResolution},
		{"application/did+json", mediaDIDJSON, mediaDIDJSON},
		{"application/did", mediaDID, mediaDID},
		{"application/did+ld+json", mediaLD, mediaLD},
		{"APPLICATION/DID+LD+JSON; charset=utf-8", mediaLD, mediaLD},
		{"application/ld+json", resultLD, mediaLD},
		{`application/ld+json;profile="https://w3id.org/did-resolution"`, resultLD, resultLD},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", mediaJSON, mediaDIDJSON},
		{"application/did+json;q=0.5, application/did+ld+json", mediaLD, mediaLD},
		{"application/did+json, application/did+ld+json", mediaDIDJSON, mediaDIDJSON},
		{"application/did+json;q=0", none, none},
		{"application/did+json;q=x, application/json;q=0.1", mediaJSON, mediaJSON},
		{"application/did+json;q=NaN", none, none},
		{"text/plain", none, none},
		{";;;,,,", none, none},
		{strings.Repeat("text/plain,", 1000), mediaJSON, mediaDIDJSON},
	} {
		for _, one := range []struct {
			otherwise form
			want      string
		}{{form{media: mediaJSON}, tt.result}, {form{media: mediaDIDJSON, document: true}, tt.document}} {
			got, ok := negotiate(tt.accept, one.otherwise)
			if !ok {
				got.media = none
			}
			if got.media != one.want {
				t.Errorf("negotiate(%.60q, %s) = %s, want %s", tt.accept, one.otherwise.media, got.media, one.want)
			}
		}
	}
}

func FuzzNegotiate(f *testing.F) {
	f.Add("application/did+json;q=0.5, */*")
	f.Fuzz(func(t *testing.T, accept string) {
		got, ok := negotiate(accept, form{media: mediaJSON})
		if ok == (got.media == "") || strings.ContainsAny(got.media, "\r\n") {
			t.Fatalf("negotiate(%q) = %+v, %v", accept, got, ok)
		}
	})
}
