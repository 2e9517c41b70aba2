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

// jobServer answers about one import and its job; each is over when it is looked
// at a second time.
func jobServer(t *testing.T) *httptest.Server {
	looked := 0
	status := func(last string) string {
		if looked++; looked > 1 {
			return last
		}
		return "running"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch at := r.Method + " " + r.URL.Path; {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"code":"KEY_INVALID","message":"The key is not valid."}`)
		case at == "POST /v1/imports":
			if q := r.URL.Query(); string(body) != "type\nHousehold\n" || q.Encode() != "dryRun=true&format=csv&mapping=%7B%22a%22%3A%22b%22%7D&mode=upsert&protocol=did%3Aixo%3Aprotocol%2Fhousehold" {
				t.Errorf("%s with %q", r.URL, body)
			}
			fmt.Fprint(w, `{"id":"job_1","status":"queued"}`)
		case at == "GET /v1/imports/job_1":
			fmt.Fprintf(w, `{"id":"job_1","status":%q,"dryRun":true,"counts":{"done":3,"total":3,"created":2,"refused":1,"warnings":1}}`, status("completedWithErrors"))
		case at == "GET /v1/imports/job_1/rows":
			if r.URL.Query().Get("cursor") == "" {
				fmt.Fprint(w, `{"items":[{"line":2,"ok":true,"action":"created","did":"did:x:1"}`)
				if r.URL.Query().Get("ok") != "false" {
					fmt.Fprint(w, `,{"line":3,"ok":true,"action":"created","did":"did:x:2","warnings":[{"pointer":"relationships.household","code":"not_held","detail":"No twin here."}]}`)
				}
				fmt.Fprint(w, `],"page":{"nextCursor":"c"}}`)
				return
			}
			fmt.Fprint(w, `{"items":[{"line":4,"action":"refused","error":{"code":"ENTITY_INVALID","message":"No.","errors":[{"pointer":"properties.size","code":"wrong_type","detail":"The cell must be a number."}]}}],"page":{}}`)
		case at == "GET /v1/jobs":
			if q := r.URL.Query(); q.Encode() != "limit=7&status=failed" {
				t.Errorf("jobs with %s", q.Encode())
			}
			fmt.Fprint(w, `{"items":[{"id":"job_1","kind":"import","status":"failed","progress":{"done":1,"total":3},"createdAt":"2026-01-02T03:04:05Z"}],"page":{}}`)
		case at == "GET /v1/jobs/job_1", at == "POST /v1/jobs/job_1/cancel":
			fmt.Fprintf(w, `{"id":"job_1","kind":"import","status":%q,"progress":{"done":1,"total":3},"errors":[{"code":"FILE_BROKEN","message":"No.","fields":[{"pointer":"/lines/3","detail":"Here."}]}]}`, status("failed"))
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"code":"JOB_NOT_FOUND","message":"There is no such job."}`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestImportsAndJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, key := filepath.Join(dir, "farm.csv"), filepath.Join(dir, "key")
	for name, text := range map[string]string{file: "type\nHousehold\n", key: "secret\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args string
		code int
		says []string // in what is printed
		not  string
	}{
		{
			"imports create FILE --dry-run --mode upsert --protocol did:ixo:protocol/household --mapping {\"a\":\"b\"}", 0,
			[]string{"job_1 completedWithErrors (dry run: nothing is stored): 3 of 3 rows: 2 created", "1 refused", "properties.size", "The cell must be a number.", "warning not_held", "did:x:2"},
			"did:x:1",
		},
		{"imports show job_1", 0, []string{"job_1 running"}, ""},
		{"imports rows job_1", 0, []string{"did:x:1", "did:x:2", "ENTITY_INVALID"}, ""},
		{"imports rows job_1 --refused", 0, []string{"ENTITY_INVALID"}, "did:x:2"},
		{"imports show", 2, []string{"give one import id"}, ""},
		{"imports create", 2, []string{"takes a file"}, ""},
		{"imports create nothing.csv", 1, []string{"read the file"}, ""},
		{"jobs list --status failed --limit 7", 0, []string{"job_1", "failed", "1/3", "2026-01-02T03:04:05Z"}, ""},
		{"jobs list --limit 0", 2, []string{"from 1 to 1000"}, ""},
		{"jobs show job_1", 0, []string{"running", "FILE_BROKEN: No.", "/lines/3: Here."}, ""},
		{"jobs cancel job_1", 0, []string{"job_1"}, ""},
		{"jobs wait job_1", 1, []string{"the job is failed", "FILE_BROKEN"}, ""},
		{"jobs show job_2", 1, []string{"JOB_NOT_FOUND: There is no such job."}, ""},
	} {
		args := strings.Fields(strings.ReplaceAll(tt.args, "FILE", file))
		code, out, errs := run(t, dir, append(args, "--url", jobServer(t).URL, "--key-file", key)...)
		for _, want := range tt.says {
			if code != tt.code || !strings.Contains(out+errs, want) {
				t.Errorf("%s = %d %q %q, want %d and %q", tt.args, code, out, errs, tt.code, want)
			}
		}
		if tt.not != "" && strings.Contains(out, tt.not) {
			t.Errorf("%s prints %q", tt.args, out)
		}
	}
}
