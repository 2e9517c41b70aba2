package claim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
)

// words are what somebody wrote who should not have.
const words = "Amina of the blue gate"

// written has people write about a claim wherever they can, and gives what it became.
func (c *court) written(t *testing.T, id string) (became string) {
	t.Helper()
	c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", `{"facts":{"usage":{"value":2}},"decision":"approved","amount":7,"reason":"`+words+`"}`, "201")
	// A full second: its zeros are in the hash as they are in answers.
	if _, err := c.d.Exec(t.Context(), `UPDATE claim_evaluations SET at = at - at % 1000`); err != nil {
		t.Fatal(err)
	}
	became = c.want(t, "judge", "POST /v1/credentials", `{"claim":"`+id+`"}`, "201").text("id")
	dispute := c.want(t, "neighbour", "POST "+claimAt(id)+"/disputes", `{"reason":"`+words+`"}`, "201").text("id")
	c.want(t, "elder", "POST "+claimAt(id)+"/disputes/"+dispute+"/decision", `{"outcome":"dismissed","reason":"`+words+`"}`, "200")
	c.want(t, "judge", "POST /v1/credentials/"+became+"/suspend", `{"reason":"`+words+`"}`, "200")
	return became
}

// found counts the rows of the store that have the words.
func found(t *testing.T, d *db.DB) (out string) {
	t.Helper()
	for _, from := range []string{
		`claim_evaluations WHERE reason LIKE $1`, `claim_disputes WHERE reason LIKE $1 OR answer LIKE $1`, `entities WHERE rev_reason LIKE $1 OR body LIKE $1`,
		`entity_history WHERE reason LIKE $1 OR body LIKE $1`, `claims WHERE document LIKE $1 OR facts LIKE $1`, `credentials WHERE says LIKE $1 OR document LIKE $1`, `events WHERE data LIKE $1`,
	} {
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM `+from, "%"+words+"%").Scan(&n); err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(from, " ")
		out += fmt.Sprintf("%s %d, ", table, n)
	}
	return out
}

// erase takes what was written about a twin out of its claims.
func erase(ctx context.Context, t *testing.T, d *db.DB, ws, id string) (n int64) {
	t.Helper()
	err := d.InTx(ctx, func(tx *db.Tx) (err error) {
		n, err = claim.Erase(ctx, tx, ws, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What was written about the claims of somebody who is erased goes, in the claims, in
// their twins and in those of their credentials; it was never in events nor in what is
// signed. What can be made again comes to the same afterwards.
func TestErase(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		home, others := c.twin(t, "owner", "household"), c.twin(t, "owner", "household")
		mine := c.claim(t, "fuel-saved")
		c.want(t, "owner", "POST "+at(c.stove)+"/relationships", `{"role":"household","target":"`+home+`"}`, "201")
		before := c.twin(t, "owner", "household") // had the stove in another year
		c.want(t, "owner", "POST "+at(c.stove)+"/relationships", `{"role":"household","target":"`+before+`","until":"1999-12-31T00:00:00Z"}`, "201")
		became := c.written(t, mine)
		if got, want := found(t, d), "claim_evaluations 1, claim_disputes 1, entities 1, entity_history 3, claims 0, credentials 0, events 0, "; got != want {
			t.Fatalf("the words are in %s want %s", got, want)
		}
		if n := erase(t.Context(), t, d, "ws", others); n != 0 {
			t.Errorf("another household takes %d words along", n)
		}
		if n := erase(t.Context(), t, d, "ws", before); n != 0 {
			t.Errorf("a household that had the stove before takes %d words along", n)
		}
		if n := erase(t.Context(), t, d, "other", home); n != 0 {
			t.Errorf("another workspace takes %d words along", n)
		}
		if n := erase(t.Context(), t, d, "ws", home); n == 0 {
			t.Error("nothing is erased")
		}
		if got, want := found(t, d), "claim_evaluations 0, claim_disputes 0, entities 0, entity_history 0, claims 0, credentials 0, events 0, "; got != want {
			t.Errorf("the words are in %s want %s", got, want)
		}
		if n := erase(t.Context(), t, d, "ws", home); n != 0 {
			t.Errorf("%d more are erased by a second erasure, want none", n)
		}
		dispute := c.want(t, "owner", "GET "+claimAt(mine)+"/disputes", "", "200").Body["items"].([]any)[0].(map[string]any)
		if dispute["reason"] != "" || dispute["decision"] != nil || dispute["reasonErased"] != true || dispute["status"] != "dismissed" {
			t.Errorf("the dispute is %v, want it without words, which it says", dispute)
		}
		e := c.want(t, "owner", "GET "+claimAt(mine)+"/evaluations", "", "200").Body["items"].([]any)[0].(map[string]any)
		if e["reason"] != nil || e["reasonErased"] != true || e["reasonCode"] != "ODD" || e["amount"] != 7.0 {
			t.Errorf("the evaluation is %v, want it without words, which it says", e)
		}
		if again := c.want(t, "owner", "POST "+claimAt(mine)+"/evaluations:recompute", "", "200"); again.Body["same"] != true {
			t.Errorf("recomputed %v, want the same", again.Body)
		}
		c.rests(t, became, e)
	})
}

// rests holds an evaluation, as the API gives it, to the hash of it that is signed.
func (c *court) rests(t *testing.T, became string, e map[string]any) {
	t.Helper()
	var salt []byte
	var document string
	if err := c.d.QueryRow(t.Context(), `SELECT salt, document FROM credentials WHERE did = $1`, became).Scan(&salt, &document); err != nil {
		t.Fatal(err)
	}
	delete(e, "reasonErased")
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	v := jsontext.Value(raw)
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	if want := credential.Digest(credential.SaltOf(salt, "EvaluationDigest"), v); !strings.Contains(document, want) {
		t.Errorf("%s has not the hash %s of %s", document, want, v)
	}
}
