package intake_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
)

// plot is a form as XLSForm has it: groups are sections, and names are ids.
const plot = `{"templateId":"plot","sections":[
	{"id":"consent","questions":[{"id":"agreed","type":"consent"}]},
	{"id":"home","questions":[{"id":"hh","type":"text"},{"id":"members","type":"integer","required":true},{"id":"fuels","type":"multiple_choice","options":["wood","gas"]},
		{"id":"place","type":"geo"},{"id":"photo","type":"photo"},{"id":"woke","type":"time"},
		{"id":"child","type":"repeat","questions":[{"id":"name","type":"text","pii":"direct"},{"id":"age","type":"integer"},
			{"id":"toy","type":"repeat","questions":[{"id":"what","type":"text"}]}]}]}]}`

// packed makes a zip.
func packed(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What ODK Central and Kobo export is taken, with repeats and pictures, and says
// the same in every form.
func TestOtherPrograms(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		const central = "SubmissionDate,start,end,consent-agreed,home-hh,home-members,home-fuels,home-place-Latitude,home-place-Longitude,home-place-Altitude,home-place-Accuracy," +
			"home-photo,home-woke,meta-instanceID,KEY,SubmitterID,SubmitterName,AttachmentsPresent,AttachmentsExpected,Status,ReviewState,DeviceID,Edits,FormVersion\n" +
			"2026-03-01T12:00:00.000Z,2026-03-01T10:00:00.000+03:00,2026-03-01T10:20:00.000+03:00,yes,did:ixo:household/1,4,wood gas,-1.5,36.25,1700,5,a.jpg,06:30:00.000+03:00,uuid:one,uuid:one,7,Ann,1,1,,approved,d1,0,1\n" +
			"2026-03-01T12:30:00.000Z,2026-03-01T11:00:00.000+03:00,2026-03-01T11:20:00.000+03:00,yes,did:ixo:household/2,2,,,,,,b.jpg,,uuid:two,uuid:two,7,Ann,0,1,,,d1,0,1\n"
		const children = "child-name,child-age,PARENT_KEY,KEY\nAmina,3,uuid:one,uuid:one/home/child[1]\nJuma,5,uuid:one,uuid:one/home/child[2]\n"
		const toys = "what,PARENT_KEY,KEY\nball,uuid:one/home/child[2],uuid:one/home/child[2]/toy[1]\n"
		odkZip := packed(t, "plot.csv", central, "plot-child.csv", strings.ReplaceAll(children, "child-", ""), "plot-child-toy.csv", toys, "media/a.jpg", "a picture")
		const odata = `{"@odata.context":"x","value":[{"__id":"uuid:one","__system":{"submissionDate":"2026-03-01T12:00:00.000Z","submitterName":"Ann","reviewState":"approved","deviceId":"d1"},"start":"2026-03-01T10:00:00.000+03:00",` +
			`"end":"2026-03-01T10:20:00.000+03:00","meta":{"instanceID":"uuid:one"},"consent":{"agreed":"yes"},"home":{"hh":"did:ixo:household/1","members":4,"fuels":"wood gas","woke":"06:30:00.000+03:00",` +
			`"place":{"type":"Point","coordinates":[36.25,-1.5,1700],"properties":{"accuracy":5}},"child":[{"__id":"1","name":"Amina","age":3,"toy":[]},{"__id":"2","name":"Juma","age":5,"toy":[{"what":"ball"}]}]}}]}`
		const kobo = "start;end;consent/agreed;home/hh;home/members;home/fuels;home/fuels/wood;home/fuels/gas;home/place;_home/place_latitude;_home/place_longitude;_home/place_altitude;_home/place_precision;home/photo;home/photo_URL;home/woke;" +
			"_id;_uuid;_submission_time;_validation_status;_notes;_status;_submitted_by;__version__;_tags;_index\n" +
			"2026-03-01T10:00:00.000+03:00;2026-03-01T10:20:00.000+03:00;yes;did:ixo:household/1;4;wood gas;1;1;-1.5 36.25 1700 5;-1.5;36.25;1700;5;a.jpg;https://example.org/a.jpg;06:30;12;one;2026-03-01T12:00:00;;;submitted_via_web;ann;v1;;1\n"
		const koboJSON = `{"count":1,"results":[{"_id":12,"formhub/uuid":"f","start":"2026-03-01T10:00:00.000+03:00","end":"2026-03-01T10:20:00.000+03:00","consent/agreed":"yes","home/hh":"did:ixo:household/1","home/members":"4",` +
			`"home/fuels":"wood gas","home/place":"-1.5 36.25 1700 5","home/woke":"06:30:00.000+03:00","home/child":[{"home/child/name":"Amina","home/child/age":"3"},{"home/child/name":"Juma","home/child/age":"5",` +
			`"home/child/toy":[{"home/child/toy/what":"ball"}]}],"meta/instanceID":"uuid:one","_uuid":"one","_attachments":[],"_geolocation":[-1.5,36.25],"_submission_time":"2026-03-01T12:00:00","_tags":[]}]}`
		mapping := "&mapping=" + url.QueryEscape(`{"home-hh":"householdId","home/hh":"householdId"}`)
		const home = `"fuels":["wood","gas"],"members":4,`
		const place = `"place":{"accuracy":5,"altitude":1700,"lat":-1.5,"lon":36.25},`
		const child = `"child":[{"age":3,"name":"Amina"},{"age":5,"name":"Juma","toy":[{"what":"ball"}]}],`
		for i, tt := range []struct {
			query   string
			file    []byte
			created int64
			want    []string // of the answers
			told    []string
		}{
			{"source=odk&format=zip", odkZip, 2, []string{home, place, child, `"woke":"06:30:00"`, `"photo":"sha256:`}, []string{"2 warning ReviewState:not_carried_over", "3 warning home-photo:attachment_missing"}},
			{"source=odk&format=csv", []byte(central), 2, []string{home, place}, []string{"2 warning ReviewState:not_carried_over", "2 warning home-photo:attachment_missing", "3 warning home-photo:attachment_missing"}},
			{"source=odk&format=json", []byte(odata), 1, []string{home, place, strings.Replace(child, `"name":"Amina"`, `"name":"Amina","toy":[]`, 1), `"woke":"06:30:00"`}, []string{"1 warning ReviewState:not_carried_over"}},
			{"source=kobo&format=csv", []byte(kobo), 1, []string{home, place, `"woke":"06:30"`}, []string{"2 warning home/photo:attachment_missing"}},
			{"source=kobo&format=json", []byte(koboJSON), 1, []string{home, place, child}, nil},
		} {
			ws := fmt.Sprintf("w%d", i)
			r.survey(t, ws, plot)
			dry, rows := r.load(t, ws+" owner", tt.query+mapping+"&dryRun=true", tt.file)
			if dry.Counts.Created != tt.created || dry.Counts.Media != 0 {
				t.Errorf("%s: dry run %+v: %q %+v", tt.query, dry.Counts, problems(rows), dry.Errors)
			}
			var list struct {
				Items []map[string]any `json:"items"`
			}
			if r.do(t, ws+" owner GET /v1/surveys/s/responses", "", 200, &list); len(list.Items) != 0 {
				t.Errorf("%s: the dry run has stored %d responses", tt.query, len(list.Items))
			}
			in, rows := r.load(t, ws+" owner", tt.query+mapping, tt.file)
			if in.Counts.Created != tt.created || in.Status != job.Succeeded || !slices.Equal(problems(rows), tt.told) {
				t.Errorf("%s: %s %+v: %q, want %q; %+v", tt.query, in.Status, in.Counts, problems(rows), tt.told, in.Errors)
				continue
			}
			body := r.do(t, ws+" owner GET /v1/responses/uuid:one", "", 200, nil).Body.String()
			for _, want := range append(tt.want, `"timestamp":"2026-03-01T07:20:00.000Z"`, `"startedAt":"2026-03-01T07:00:00.000Z"`, `"householdId":"did:ixo:household/1"`, `"submittedBy":"did:key:owner"`, `"status":"pending"`) {
				if !strings.Contains(body, want) {
					t.Errorf("%s: no %s in %s", tt.query, want, body)
				}
			}
			history := r.do(t, ws+" owner GET /v1/responses/uuid:one/history", "", 200, nil).Body.String()
			if want := "SHA-256 " + in.SHA256; !strings.Contains(history, want) || strings.Contains(history, in.ID) {
				t.Errorf("%s: want %q without the job %s, which names the sender, in %s", tt.query, want, in.ID, history)
			}
			if again, rows := r.load(t, ws+" owner", tt.query+mapping, tt.file); again.Counts.Unchanged != tt.created {
				t.Errorf("%s again: %+v: %q", tt.query, again.Counts, problems(rows))
			}
		}
	})
}

// workbook makes a workbook of sheets, whose rows are lines with semicolons.
func workbook(t testing.TB, sheets ...string) []byte {
	t.Helper()
	var names []string
	for i := 0; i < len(sheets); i += 2 {
		names = append(names, sheets[i])
	}
	var out bytes.Buffer
	w, err := sheet.NewBook(&out, names...)
	for i := 1; i < len(sheets) && err == nil; i += 2 {
		err = w.Sheet()
		for line := range strings.Lines(sheets[i]) {
			err = errors.Join(err, w.Row(strings.Split(strings.TrimSpace(line), ";")...))
		}
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A workbook as Kobo makes it has a sheet of submissions and one of each repeat,
// whose rows name the row that they belong to.
func TestKoboWorkbook(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		const main = "start;end;today;consent/agreed;home/hh;home/members;home/fuels;home/fuels/wood;home/fuels/gas;home/place;_home/place_latitude;_home/place_longitude;_home/place_altitude;_home/place_precision;home/photo;home/photo_URL;home/woke;" +
			"__version__;_id;_uuid;_submission_time;_validation_status;_notes;_status;_submitted_by;_tags;_index\n" +
			"2026-03-01T10:00:00.000+03:00;2026-03-01T10:20:00.000+03:00;2026-03-01;yes;did:ixo:household/1;4;wood gas;1;1;-1.5 36.25 1700 5;-1.5;36.25;1700;5;;;06:30;v1;12;one;2026-03-01T12:00:00;;;submitted_via_web;ann;;1\n" +
			"2026-03-01T11:00:00.000+03:00;2026-03-01T11:20:00.000+03:00;2026-03-01;yes;did:ixo:household/2;2;;;;;;;;;;;;v1;13;two;2026-03-01T12:30:00;;;submitted_via_web;ann;;2\n"
		const children = "home/child/name;home/child/age;_index;_parent_table_name;_parent_index;_submission__id;_submission__uuid;_submission__submission_time;_submission__validation_status;_submission__tags\n" +
			"Amina;3;1;Plot survey;1;12;one;2026-03-01T12:00:00;;\nJuma;5;2;Plot survey;1;12;one;2026-03-01T12:00:00;;\nZawadi;7;3;Plot survey;2;13;two;2026-03-01T12:30:00;;\n"
		const toys = "home/child/toy/what;_index;_parent_table_name;_parent_index;_submission__id;_submission__uuid\nball;1;child;2;12;one\ndoll;2;child;3;13;two\n"
		file := workbook(t, "Plot survey", main, "child", children, "toy", toys)
		query := "source=kobo&format=xlsx&mapping=" + url.QueryEscape(`{"home/hh":"householdId"}`)
		r.survey(t, "ws", plot)
		in, rows := r.load(t, "ws owner", query, file)
		if in.Counts.Created != 2 || in.Status != job.Succeeded || len(problems(rows)) > 0 {
			t.Errorf("%s %+v: %q; %+v", in.Status, in.Counts, problems(rows), in.Errors)
		}
		for id, wants := range map[string][]string{
			"uuid:one": {`"child":[{"age":3,"name":"Amina"},{"age":5,"name":"Juma","toy":[{"what":"ball"}]}]`, `"fuels":["wood","gas"],"members":4`, `"place":{"accuracy":5,"altitude":1700,"lat":-1.5,"lon":36.25}`},
			"uuid:two": {`"child":[{"age":7,"name":"Zawadi","toy":[{"what":"doll"}]}]`, `"timestamp":"2026-03-01T08:20:00.000Z"`, `"householdId":"did:ixo:household/2"`},
		} {
			body := r.do(t, "ws owner GET /v1/responses/"+id, "", 200, nil).Body.String()
			for _, want := range wants {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in %s", want, body)
				}
			}
		}
		for code, file := range map[string][]byte{
			"unknown_table": workbook(t, "Plot survey", main, "cattle", children),
			"out_of_order":  workbook(t, "Plot survey", main, "child", strings.ReplaceAll(children, ";two;", ";three;")),
			"no_parent":     workbook(t, "Plot survey", main, "child", children, "toy", strings.ReplaceAll(toys, "child;2", "child;9")),
		} {
			r.survey(t, code, plot)
			if in, _ := r.load(t, code+" owner", query, file); in.Status != job.Failed || len(in.Errors) != 1 || !strings.Contains(fmt.Sprint(in.Errors), code) {
				t.Errorf("%s: %s %+v", code, in.Status, in.Errors)
			}
		}
	})
}

// A wrong row is refused alone and says in which column; nothing is lost unseen.
func TestRefusedRows(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", plot)
		r.start(t)
		const head = "responseId,householdId,timestamp,consent.agreed,home.members,home.fuels,home.place/lat,colour\n"
		in, rows := r.load(t, "ws owner", "format=csv", []byte(head+
			"r1,did:ixo:household/1,2026-02-20T10:00:00Z,true,4,wood,,\n"+ // 2
			"r2,did:ixo:household/2,2026-02-20T10:00:00Z,true,many,wood,,\n"+ // 3
			",did:ixo:household/3,yesterday,perhaps,4,wood,x,\n"+ // 4
			"r4,did:ixo:household/4,2026-02-20T10:00:00Z,true,4,wood;coal,,\n"+ // 5
			"r5,did:ixo:household/5,2026-02-20T10:00:00Z,true,4,wood,,red\n"+ // 6
			"r6,did:ixo:household/6,2026-02-20T10:00:00Z,true,,wood,,\n"+ // 7
			"r1,did:ixo:household/7,2026-02-20T10:00:00Z,true,4,wood,,\n"+ // 8
			"r8,household 8,2026-02-20T10:00:00Z,true,4,wood,,\n")) // 9
		want := []string{
			"3 ROW_INVALID home.members:wrong_type",
			"4 ROW_INVALID responseId:required timestamp:wrong_type consent.agreed:wrong_type home.place/lat:wrong_type",
			"5 RESPONSE_INVALID /responses/home/fuels/1:not_an_option",
			"6 ROW_INVALID colour:unknown_column",
			"7 RESPONSE_INVALID /responses/home/members:required",
			"8 RESPONSE_CONFLICT",
			"9 RESPONSE_INVALID /householdId:not_a_did",
		}
		got := problems(rows)
		for i, text := range got {
			if strings.HasPrefix(text, "8 RESPONSE_CONFLICT") {
				got[i] = "8 RESPONSE_CONFLICT"
			}
		}
		if in.Status != job.CompletedWithErrors || in.Counts != (intake.Counts{Total: 8, Done: 8, Created: 1, Refused: 7}) || !slices.Equal(got, want) {
			t.Errorf("%s %+v:\n%q\nwant\n%q", in.Status, in.Counts, got, want)
		}
		in, _ = r.load(t, "ws owner", "format=csv&partial=true", []byte(head+"r6,did:ixo:household/6,2026-02-20T10:00:00Z,true,,wood,,\n"))
		if in.Counts.Partial != 1 || in.Counts.Created != 1 {
			t.Errorf("partial: %+v", in.Counts)
		}
		// A file that is broken as a whole stores nothing and says where.
		for query, file := range map[string]string{
			"format=csv":              "responseId,responseId\nr,r\n",
			"format=xlsx":             "no workbook",
			"format=zip":              "no zip",
			"source=odk&format=json":  `{"value":7}`,
			"source=kobo&format=json": `{"results":[{"a":]}`,
		} {
			in, _ := r.load(t, "ws owner", query, []byte(file))
			if in.Status != job.Failed || len(in.Errors) != 1 || in.Errors[0].Code != "FILE_INVALID" {
				t.Errorf("%s: %s %+v", query, in.Status, in.Errors)
			}
		}
		orphans := packed(t, "responses.csv", head+"r9,did:ixo:household/9,2026-02-20T10:00:00Z,true,4,wood,,\n", "home.child.csv", "responseId,parentIndex,index,home.child.name\nr7,,1,A\n")
		if in, _ := r.load(t, "ws owner", "format=zip", orphans); in.Status != job.Failed || in.Errors[0].Fields[0].Code != "out_of_order" || in.Counts.Created != 0 {
			t.Errorf("orphans: %s %+v", in.Status, in.Errors)
		}
		for query, status := range map[string]int{"format=ods": 400, "source=excel&format=csv": 400, "source=odk&format=ndjson": 400, "mapping=x&format=csv": 400, "": 415} {
			if w := r.h.Send(t, "ws owner", "POST /v1/surveys/s/imports?"+query, "x", "Content-Type", "text/html"); w.Code != status {
				t.Errorf("%q = %d, want %d: %s", query, w.Code, status, w.Body)
			}
		}
	})
}

// Nobody writes as another collector, nor brings a verdict, without the right
// that says so.
func TestRights(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", plot)
		r.start(t)
		const head = "responseId,householdId,timestamp,consent.agreed,home.members,collector,verificationStatus,verifier,verifiedAt,submittedBy\n"
		file := func(n int, collector, verifier string) []byte {
			return fmt.Appendf(nil, "%sr%d,did:ixo:household/%d,2026-02-20T10:00:00Z,true,4,%s,verified,%s,2026-02-21T10:00:00Z,did:key:sender\n", head, n, n, collector, verifier)
		}
		const pending, sender = "2 warning verificationStatus:not_carried_over", "2 warning submittedBy:not_carried_over"
		for i, tt := range []struct {
			role, collector, verifier string
			state                     string
			told                      []string
		}{
			{"clerk", "did:key:collector", "did:key:verifier", "", []string{"2 SCOPE_MISSING /collector:scope_missing", pending, sender}},
			{"clerk", "did:key:clerk", "did:key:verifier", "pending", []string{pending, sender}},
			{"manager", "did:key:collector", "did:key:verifier", "pending", []string{pending, sender}},
			{"judge", "did:key:collector", "did:key:verifier", "verified", []string{sender}},
			{"judge", "did:key:collector", "did:key:judge", "pending", []string{pending, sender}},
			{"judge", "did:key:collector", "did:key:collector", "pending", []string{pending, sender}},
			{"judge", "", "did:key:verifier", "pending", []string{pending, sender}},
		} {
			in, rows := r.load(t, "ws "+tt.role, "format=csv", file(i, tt.collector, tt.verifier))
			if got := problems(rows); !slices.Equal(got, tt.told) {
				t.Errorf("%+v: %q %+v", tt, got, in.Errors)
			}
			if tt.state == "" {
				continue
			}
			var got struct {
				Sender       string `json:"submittedBy"`
				Verification struct {
					Status     string `json:"status"`
					ImportedBy string `json:"importedBy"`
				} `json:"verification"`
			}
			r.do(t, fmt.Sprintf("ws owner GET /v1/responses/r%d", i), "", 200, &got)
			if got.Verification.Status != tt.state || got.Sender != "did:key:"+tt.role || tt.state == "verified" && got.Verification.ImportedBy != "did:key:judge" {
				t.Errorf("%+v: %+v", tt, got)
			}
		}
		// A decision in a file of another program is none, whoever brings it.
		const other = "home-members,consent-agreed,end,KEY,collector,householdId,verificationStatus,verifier,verifiedAt\n4,yes,2026-02-20T10:00:00Z,uuid:v,did:key:collector,did:ixo:household/90,verified,did:key:verifier,2026-02-21T10:00:00Z\n"
		in, rows := r.load(t, "ws judge", "source=odk&format=csv", []byte(other))
		if got := problems(rows); in.Counts.Created != 1 || !slices.Equal(got, []string{pending}) {
			t.Errorf("odk: %+v %q", in.Counts, got)
		}
		if w := r.do(t, "ws owner GET /v1/responses/uuid:v", "", 200, nil); !strings.Contains(w.Body.String(), `"status":"pending"`) {
			t.Errorf("odk: %s", w.Body)
		}
		for _, column := range []string{"verificationStatus", "verifier", "verifiedAt"} {
			query := "format=csv&mapping=" + url.QueryEscape(`{"x":"`+column+`"}`)
			if w := r.h.Send(t, "ws judge", "POST /v1/surveys/s/imports?source=odk&"+query, "x\n"); w.Code != 400 || !strings.Contains(w.Body.String(), "not_carried_over") {
				t.Errorf("%s = %d: %s", column, w.Code, w.Body)
			}
			if w := r.h.Send(t, "ws judge", "POST /v1/surveys/s/imports?"+query, "x\n"); w.Code != 202 {
				t.Errorf("hearth, %s = %d: %s", column, w.Code, w.Body)
			}
		}
		if w := r.h.Send(t, "ws reader", "POST /v1/surveys/s/imports?format=csv", head); w.Code != 403 {
			t.Errorf("without responses:write = %d: %s", w.Code, w.Body)
		}
		if w := r.h.Send(t, "other owner", "POST /v1/surveys/s/imports?format=csv", head); w.Code != 404 {
			t.Errorf("another workspace = %d: %s", w.Code, w.Body)
		}
	})
}

// A killed import goes on where it stopped: nothing is lost or stored twice.
func TestKilled(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", plot)
		const rows = 230
		var kills atomic.Int64
		r.start(t, func(h job.Handler) job.Handler {
			return func(ctx context.Context, run *job.Run) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				if n := kills.Add(1); n < 4 {
					ctx = dying{ctx, cancel, new(atomic.Int64), 40 * n}
				}
				return h(ctx, run)
			}
		})
		var file strings.Builder
		file.WriteString("responseId,householdId,timestamp,consent.agreed,home.members\n")
		for i := range rows {
			fmt.Fprintf(&file, "r%d,did:ixo:household/%d,2026-02-20T10:00:00Z,true,%d\n", i, i, i)
		}
		in, list := r.load(t, "ws owner", "format=csv", []byte(file.String()))
		if in.Status != job.Succeeded || in.Counts != (intake.Counts{Total: rows, Done: rows, Created: rows}) || len(list) != rows {
			t.Errorf("%s %+v with %d rows: %+v", in.Status, in.Counts, len(list), in.Errors)
		}
		if n := kills.Load(); n != 4 {
			t.Errorf("%d attempts, want 4", n)
		}
		var n int64
		if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM responses`).Scan(&n); err != nil || n != rows {
			t.Errorf("%d responses, %v", n, err)
		}
		if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM transfer_files`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d files are left, %v", n, err)
		}
	})
}

// dying is a context that ends after it was asked some times.
type dying struct {
	context.Context
	cancel context.CancelFunc
	n      *atomic.Int64
	after  int64
}

func (d dying) Err() error {
	if d.n.Add(1) > d.after {
		d.cancel()
	}
	return d.Context.Err()
}

// Columns of a repeat are those of its questions, also where other groups have
// questions of the name.
func TestNamesTwice(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.survey(t, "ws", `{"templateId":"twice","sections":[{"id":"home","questions":[{"id":"ok","type":"consent"},{"id":"wife","type":"group","questions":[{"id":"name","type":"text"}]},
			{"id":"child","type":"repeat","questions":[{"id":"child_name","name":"name","type":"text"}]}]}]}`)
		file := packed(t, "f.csv", "end,home-ok,home-wife-name,KEY\n2026-03-01T10:20:00.000+03:00,yes,Asha,uuid:n1\n", "f-child.csv", "name,PARENT_KEY,KEY\nAmina,uuid:n1,uuid:n1/home/child[1]\n")
		in, rows := r.load(t, "ws owner", "source=odk&format=zip&household="+url.QueryEscape("did:example:{instanceID}"), file)
		if in.Counts.Created != 1 {
			t.Fatalf("%+v %q %+v", in.Counts, problems(rows), in.Errors)
		}
		odata := `{"value":[{"__id":"uuid:n2","end":"2026-03-01T10:20:00.000+03:00","home":{"ok":"yes","wife":{"name":"Asha"},"child":[{"name":"Juma"}]}}]}`
		if in, rows := r.load(t, "ws owner", "source=odk&format=json&household="+url.QueryEscape("did:example:hh:{wife-name}"), []byte(odata)); in.Counts.Created != 1 {
			t.Fatalf("%+v %q %+v", in.Counts, problems(rows), in.Errors)
		}
		for id, want := range map[string]string{"uuid:n1": `"child":[{"child_name":"Amina"}],"ok":true,"wife":{"name":"Asha"}`, "uuid:n2": `"householdId":"did:example:hh:Asha"`} {
			if body := r.do(t, "ws owner GET /v1/responses/"+id, "", 200, nil).Body.String(); !strings.Contains(body, want) {
				t.Errorf("no %s in %s", want, body)
			}
		}
		for _, bad := range []string{"household=did:x", "household={a}{b}", "collectors=7"} {
			if w := r.h.Send(t, "ws owner", "POST /v1/surveys/s/imports?source=odk&format=csv&"+bad, "x"); w.Code != 400 {
				t.Errorf("%s = %d: %s", bad, w.Code, w.Body)
			}
		}
	})
}
