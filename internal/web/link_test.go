package web_test

import (
	"net/url"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestPageLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, next, want string }{
		{"first page", "/v1/entities?limit=5&type=device", "abc", `</v1/entities?cursor=abc&limit=5&type=device>; rel="next", </v1/entities?limit=5&type=device>; rel="first"`},
		{"later page", "/v1/entities?cursor=old&limit=5", "new", `</v1/entities?cursor=new&limit=5>; rel="next", </v1/entities?limit=5>; rel="first"`},
		{"last page", "/v1/entities?cursor=old", "", `</v1/entities>; rel="first"`},
		{"repeated parameter", "/v1/x?a=2&a=1", "c", `</v1/x?a=2&a=1&cursor=c>; rel="next", </v1/x?a=2&a=1>; rel="first"`},
		{"escaped path", "/v1/entities/did%3Aixo%2F1", "", `</v1/entities/did%3Aixo%2F1>; rel="first"`},
		{"injection", `/v1/x%3E%22?q=%3E;rel="next"`, "", `</v1/x%3E%22>; rel="first"`},
		{"angle bracket in query", `/v1/x?q=>`, "", `</v1/x?q=%3E>; rel="first"`},
		{"other host", "/%2F/evil.test/x", "", `</%2F/evil.test/x>; rel="first"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, err := url.ParseRequestURI(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := web.PageLinks(u, tt.next); got != tt.want {
				t.Errorf("PageLinks = %s\nwant %s", got, tt.want)
			}
		})
	}
	if got, want := web.PageLinks(&url.URL{Path: "//evil.test/x"}, ""), `</.//evil.test/x>; rel="first"`; got != want {
		t.Errorf("PageLinks = %s, want %s", got, want)
	}
}
