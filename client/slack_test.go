package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

// TestSlack links a principal to Slack and ends that.
func TestSlack(t *testing.T) {
	t.Parallel()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("X-Api-Key"))
		if r.Method == http.MethodPost {
			fmt.Fprint(w, `{"code":"ABC","expiresAt":"2026-03-01T12:10:00Z"}`)
			return
		}
		fmt.Fprint(w, `{"links":[{"id":"T1.U1","team":"T1","user":"U1"}]}`)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{BaseURL: s.URL, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	code, err1 := c.Oracle.SlackCode(t.Context())
	links, err2 := c.Oracle.SlackLinks(t.Context())
	if err1 != nil || err2 != nil || code.Code != "ABC" || len(links.Links) != 1 {
		t.Fatalf("code %+v, %v; links %+v, %v", code, err1, links, err2)
	}
	if _, err := c.Oracle.UnlinkSlack(t.Context(), "T1.U1"); err != nil {
		t.Fatal(err)
	}
	want := "POST /slack/links k, GET /slack/links k, DELETE /slack/links/T1.U1 k"
	if got := strings.Join(asked, ", "); got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}
