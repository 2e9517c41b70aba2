package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
)

// served is a client of a server that answers with h.
func served(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := New(Config{BaseURL: server.URL, Key: "k", Retry: Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sends wants a call to send one request: "METHOD path body", and the revision
// it names if any.
func sends(t *testing.T, want string, call func(ctx context.Context, c *Client) error) {
	t.Helper()
	got := ""
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		path := r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			path += "?" + r.URL.RawQuery
		}
		got = r.Method + " " + path + " " + string(body)
		if m := r.Header.Get("If-Match"); m != "" {
			got += " " + m
		}
		_, _ = w.Write([]byte(`{}`))
	})
	if err := call(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("request = %s\nwant      %s", got, want)
	}
}

// fails is the error of a call whose answer does not matter.
func fails[T any](_ T, err error) error { return err }

// first is the error of a list before its first item.
func first[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		return err
	}
	return nil
}
