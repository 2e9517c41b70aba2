package client_test

import (
	"context"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

func TestTemplateCalls(t *testing.T) {
	t.Parallel()
	draft := client.TemplateDraft{TemplateID: "t", Title: map[string]string{"en": "Baseline", "sw": "Awali"}, Sections: []client.TemplateSection{
		{ID: "s", Questions: []client.TemplateQuestion{{ID: "q", Type: "single_choice", Required: true, Options: []any{"a", client.Object{"value": "b"}}}}},
	}}
	const body = `{"templateId":"t","title":{"en":"Baseline","sw":"Awali"},"sections":[{"id":"s","questions":[{"id":"q","type":"single_choice","required":true,"options":["a",{"value":"b"}]}]}]}`
	expect(t, map[string]caller{
		"create": func(ctx context.Context, c *client.Client) error { return only(c.Templates.Create(ctx, draft)) },
		"get":    func(ctx context.Context, c *client.Client) error { return only(c.Templates.Get(ctx, "a b", 2)) },
		"newest": func(ctx context.Context, c *client.Client) error { return only(c.Templates.Get(ctx, "t", 0)) },
		"page": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Page(ctx, client.TemplateQuery{Stage: "baseline", Status: "draft", Q: "a b", Limit: 3, Cursor: "x"}))
		},
		"update": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Update(ctx, "t", draft, client.IfRevision(2)))
		},
		"delete": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Delete(ctx, "t", client.IfRevision(2)))
		},
		"versions": func(ctx context.Context, c *client.Client) error { return only(c.Templates.Versions(ctx, "t")) },
		"version":  func(ctx context.Context, c *client.Client) error { return only(c.Templates.Version(ctx, "t", 3)) },
		"publish": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Publish(ctx, "t", client.TemplateMove{}))
		},
		"deprecate": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Deprecate(ctx, "t", client.TemplateMove{Version: 1, Reason: "old"}))
		},
		"retire": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Retire(ctx, "t", client.TemplateMove{Reason: "over"}))
		},
		"diff":     func(ctx context.Context, c *client.Client) error { return only(c.Templates.Diff(ctx, "t", 1, 2)) },
		"diff all": func(ctx context.Context, c *client.Client) error { return only(c.Templates.Diff(ctx, "t", 0, 0)) },
		"preview": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Preview(ctx, "t", client.PreviewQuery{Language: "sw", Answers: client.Object{"s": client.Object{"q": "a"}}}))
		},
		"clone": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Clone(ctx, "baseline-v1", client.TemplateClone{TemplateID: "mine", Title: "Ours"}))
		},
		"languages": func(ctx context.Context, c *client.Client) error { return only(c.Templates.Languages(ctx, "t", 1)) },
		"reviews": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Reviews(ctx, "t", client.PageQuery{Limit: 2}))
		},
		"review": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Review(ctx, "t", client.TemplateReviewDraft{Findings: "f", Decision: "keep", ReviewedAt: day(), NextReviewInDays: 30}))
		},
		"import": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Import(ctx, strings.NewReader("PK"), client.TemplateImport{TemplateID: "in", Mode: "update"}, client.IfRevision(1)))
		},
		"files": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.Files(ctx, "t", 1))
		},
		"xlsform": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.XLSForm(ctx, "t", 1))
		},
		"xform": func(ctx context.Context, c *client.Client) error {
			return only(c.Templates.XForm(ctx, "t", 1))
		},
	}, map[string]request{
		"create":    {"POST", "/v1/templates", "", body, plain},
		"get":       {Method: "GET", Path: "/v1/templates/a%20b", Query: "version=2"},
		"newest":    {Method: "GET", Path: "/v1/templates/t"},
		"page":      {Method: "GET", Path: "/v1/templates", Query: "cursor=x&limit=3&q=a+b&stage=baseline&status=draft"},
		"update":    {"PUT", "/v1/templates/t", "", body, plain},
		"delete":    {Method: "DELETE", Path: "/v1/templates/t"},
		"versions":  {Method: "GET", Path: "/v1/templates/t/versions"},
		"version":   {Method: "GET", Path: "/v1/templates/t/versions/3"},
		"publish":   {"POST", "/v1/templates/t/publish", "", `{}`, plain},
		"deprecate": {"POST", "/v1/templates/t/deprecate", "", `{"version":1,"reason":"old"}`, plain},
		"retire":    {"POST", "/v1/templates/t/retire", "", `{"reason":"over"}`, plain},
		"diff":      {Method: "GET", Path: "/v1/templates/t/diff", Query: "from=1&to=2"},
		"diff all":  {Method: "GET", Path: "/v1/templates/t/diff"},
		"preview":   {"POST", "/v1/templates/t/preview", "", `{"language":"sw","answers":{"s":{"q":"a"}}}`, plain},
		"clone":     {"POST", "/v1/templates/baseline-v1/clone", "", `{"templateId":"mine","title":"Ours"}`, plain},
		"languages": {Method: "GET", Path: "/v1/templates/t/languages", Query: "version=1"},
		"reviews":   {Method: "GET", Path: "/v1/templates/t/reviews", Query: "limit=2"},
		"review":    {"POST", "/v1/templates/t/reviews", "", `{"findings":"f","decision":"keep","reviewedAt":"2026-01-02T03:04:05+01:00","nextReviewInDays":30}`, plain},
		"import":    {"POST", "/v1/templates:import", "mode=update&templateId=in", "PK", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		"files":     {Method: "GET", Path: "/v1/templates/t/versions/1/files"},
		"xlsform":   {Method: "GET", Path: "/v1/templates/t/versions/1/xlsform"},
		"xform":     {Method: "GET", Path: "/v1/templates/t/versions/1/xform"},
	})
}

// Answers come out as what they are, and a list goes on by itself.
func TestTemplateAnswers(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{
			"/v1/templates?":                          `{"items":[{"templateId":"a","version":1}],"page":{"limit":1,"hasMore":true,"nextCursor":"n"}}`,
			"/v1/templates?cursor=n":                  `{"items":[{"templateId":"b","version":2}],"page":{"limit":1,"hasMore":false}}`,
			"/v1/templates/t?":                        `{"templateId":"t","title":"T","version":3,"status":"published","sections":[{"id":"s","questions":[{"id":"q","type":"number","validation":{"min":1}}]}]}`,
			"/v1/templates/t/reviews?":                `{"items":[{"findings":"f"}],"page":{"limit":50,"hasMore":false},"state":{"overdue":true,"last":{"decision":"keep"}}}`,
			"/v1/templates/t/versions/3/xlsform?":     "PK",
			"/v1/templates/t/versions/3/xlsform?none": "",
		}[r.URL.Path+"?"+r.URL.RawQuery]
		_, _ = io.WriteString(w, answer)
	})
	var ids []string
	for s, err := range c.Templates.List(t.Context(), client.TemplateQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.TemplateID)
	}
	if strings.Join(ids, "") != "ab" {
		t.Errorf("list = %v, want a b", ids)
	}
	got, err := c.Templates.Get(t.Context(), "t", 0)
	if err != nil || got.Version != 3 || got.TemplateID != "t" || got.Title != "T" || *got.Sections[0].Questions[0].Validation.Min != 1 {
		t.Errorf("get = %+v, %v", got, err)
	}
	reviews, err := c.Templates.Reviews(t.Context(), "t", client.PageQuery{})
	if err != nil || len(reviews.Items) != 1 || reviews.Items[0].Findings != "f" || !reviews.State.Overdue || reviews.State.Last.Decision != "keep" || reviews.Page.Page.Limit != 50 {
		t.Errorf("reviews = %+v, %v", reviews, err)
	}
	file, err := c.Templates.XLSForm(t.Context(), "t", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if text, err := io.ReadAll(file); err != nil || string(text) != "PK" {
		t.Errorf("file = %q, %v", text, err)
	}
}

// Files go out in a form together with the workbook.
func TestTemplateImportWithFiles(t *testing.T) {
	t.Parallel()
	parts := map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form, err := r.MultipartReader()
		for err == nil {
			var p *multipart.Part
			if p, err = form.NextPart(); err == nil {
				data, _ := io.ReadAll(p)
				parts[p.FormName()+" "+p.FileName()] = string(data)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"template":{"templateId":"t"},"sha256":"x"}`)
	}))
	defer s.Close()
	c, err := client.New(client.Config{BaseURL: s.URL, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Templates.Import(t.Context(), strings.NewReader("PK"), client.TemplateImport{Files: map[string]io.Reader{"a.csv": strings.NewReader("name"), "b.csv": strings.NewReader("x")}})
	if err != nil || got.Template.TemplateID != "t" {
		t.Fatalf("Import = %+v, %v", got, err)
	}
	want := map[string]string{"form form.xlsx": "PK", "files a.csv": "name", "files b.csv": "x"}
	if !maps.Equal(parts, want) {
		t.Errorf("parts = %v, want %v", parts, want)
	}
}
