package wire_test

import (
	"io"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// What a gateway would send is read back as it was, and so is the answer.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range append(set.List(), set.Get("")) {
		for _, text := range []string{"", "1", "2*1", "Ng'ang'a & Söhne +1"} {
			kind := wire.Input
			if text == "" || text == "2*1" {
				kind = wire.Start
			}
			q := wire.Request{SessionID: "s:1", ServiceCode: "*920#", Phone: "+233200000001", Text: text, Kind: kind}
			r, err := g.NewRequest(t.Context(), "http://example.test/", "", q)
			if err != nil {
				t.Fatalf("%s: NewRequest() = %v", g.Name, err)
			}
			var body []byte
			if r.Body != nil {
				if body, err = io.ReadAll(r.Body); err != nil {
					t.Fatal(err)
				}
			}
			if want := "/api/ussd" + strings.TrimSuffix("/"+g.Name, "/"); r.URL.Path != want {
				t.Errorf("%s: path = %s, want %s", g.Name, r.URL.Path, want)
			}
			got, err := wire.Read(r, body, g)
			want := q
			want.Gateway, want.Mode, want.Kind = g.Name, g.Mode, got.Kind
			if g.Name == "arkesel" {
				want.ServiceCode = "*928#" // requests carry none
			}
			if err != nil || !same(got, want) {
				t.Errorf("%s: %s %s was read as %+v, %v, want %+v", g.Name, r.URL, body, got, err, want)
			}
			if got.Kind != "" && got.Kind != kind {
				t.Errorf("%s: kind = %q, want %q", g.Name, got.Kind, kind)
			}
			for _, a := range []wire.Reply{{Text: "a\n\"1\". é"}, {Text: "Bye", End: true}} {
				back, err := g.ReadReply(g.ContentType(), g.Append(nil, got, a))
				if err != nil || back != a {
					t.Errorf("%s: answer %+v was read as %+v, %v", g.Name, a, back, err)
				}
			}
		}
	}
}

func TestReadReplyBad(t *testing.T) {
	t.Parallel()
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	plain, hubtel := set.Get(""), set.Get("hubtel")
	for _, tt := range []struct {
		g          *wire.Gateway
		ctype, out string
	}{
		{plain, "text/html", "CON a"},
		{plain, plain.ContentType(), "con a"},
		{plain, plain.ContentType(), "CON"},
		{plain, plain.ContentType(), ""},
		{hubtel, plain.ContentType(), "CON a"},
		{hubtel, hubtel.ContentType(), "CON a"},
		{hubtel, hubtel.ContentType(), "{}"},
		{hubtel, hubtel.ContentType(), `{"Type":"response","Message":5}`},
		{hubtel, hubtel.ContentType(), `{"Type":"perhaps","Message":"a"}`},
	} {
		if a, err := tt.g.ReadReply(tt.ctype, []byte(tt.out)); err == nil {
			t.Errorf("ReadReply(%q, %q) = %+v, want an error", tt.ctype, tt.out, a)
		}
	}
}
