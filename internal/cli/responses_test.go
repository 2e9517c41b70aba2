package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is sent with the key, waited for, and the rows that were refused are
// listed with their columns.
func TestResponsesImport(t *testing.T) {
	t.Parallel()
	looked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"code":"KEY_INVALID","message":"The key is not valid.","errors":[{"pointer":"header/Authorization","detail":"No."}]}`)
		case r.Method == http.MethodPost:
			if q := r.URL.Query(); string(body) != "KEY\n1\n" || q.Get("format") != "csv" || q.Get("source") != "odk" || q.Get("dryRun") != "true" || q.Get("mapping") != `{"a":"b"}` || r.URL.Path != "/v1/surveys/base line/imports" {
				t.Errorf("%s with %q", r.URL, body)
			}
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, `{"id":"job_1","status":"queued"}`)
		case strings.HasSuffix(r.URL.Path, "/rows"):
			if r.URL.Query().Get("cursor") == "" {
				fmt.Fprint(w, `{"items":[{"line":3,"responseId":"r2","error":{"code":"ROW_INVALID","message":"No.","errors":[{"pointer":"home.size","code":"wrong_type","detail":"The cell must be a number."}]}}],"page":{"nextCursor":"c"}}`)
				return
			}
			fmt.Fprint(w, `{"items":[{"line":9,"error":{"code":"RESPONSE_CONFLICT","message":"Something else is stored."}}],"page":{}}`)
		default:
			status := "running"
			if looked++; looked > 1 {
				status = "completedWithErrors"
			}
			fmt.Fprintf(w, `{"id":"job_1","status":%q,"counts":{"done":9,"total":9,"created":7,"refused":2},"links":{"rows":"/v1/x/rows"}}`, status)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file, key, wrong := write("farm.csv", "KEY\n1\n"), write("key", "secret\n"), write("wrong", "no")
	args := []string{"responses", "import", "base line", file, "--url", server.URL, "--source", "odk", "--dry-run", "--mapping", `{"a":"b"}`, "--key-file"}
	code, out, errs := run(t, dir, append(args, key)...)
	for _, want := range []string{"completedWithErrors: 9 of 9 rows: 7 created (0 partial), 0 unchanged, 2 refused", "home.size  The cell must be a number.", "RESPONSE_CONFLICT"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d: no %q in %q %q", code, want, out, errs)
		}
	}
	if code, _, errs := run(t, dir, append(args, wrong)...); code != 1 || !strings.Contains(errs, "KEY_INVALID: The key is not valid.\n  header/Authorization: No.") {
		t.Errorf("wrong key: %d %q", code, errs)
	}
	if code, _, errs := run(t, dir, "responses", "import", "s", file, "--url", server.URL); code != 2 || !strings.Contains(errs, "--key-file") {
		t.Errorf("without a key: %d %q", code, errs)
	}
}
