package app_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/config"
)

// TestCustomersArePrincipals: the twin of a customer of the line changes its
// keys, controllers and owner only by staff who look after customers. What
// it says of her, and the line itself, need no more than before.
func TestCustomersArePrincipals(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		newProgramme(t, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) }).protectCustomer(t)
	})
}

func (p *programme) protectCustomer(t *testing.T) {
	t.Helper()
	c := p.register(t, customer{phone: "+254711223377", name: "Wambui", email: "00", pin: "48213"})
	key := func(name string, scopes ...string) string {
		t.Helper()
		var made struct {
			Key string `json:"key"`
		}
		p.want(t, "POST", "/v1/api-keys", `{"name":"`+name+`","principal":"did:ixo:agent/`+name+`","scopes":["`+strings.Join(scopes, `","`)+`"]}`, &made)
		return made.Key
	}
	ask := func(what, key, line, body, want string) {
		t.Helper()
		method, path, _ := strings.Cut(line, " ")
		w := p.send(t, key, method, path, body)
		var got struct {
			Code string `json:"code"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code < 300 && want != "" || got.Code != want {
			t.Errorf("%s: %s = %d %s, want %q", what, line, w.Code, w.Body, want)
		}
	}
	clerk := key("clerk", "entities:read", "entities:write", "entities:pii", "entities:transfer")
	staff := key("staff", "entities:read", "entities:write", "entities:pii", "entities:transfer", "ussd:write")
	her, home := "/v1/entities/"+c.did, "/v1/entities/"+c.household
	const take = `{"controller":"did:ixo:agent/clerk"}`
	const protected = "PRINCIPAL_PROTECTED"
	ask("a clerk takes her over", clerk, "POST "+her+"/transfer", take, protected)
	ask("a clerk takes her household over, which acts nowhere", clerk, "POST "+home+"/transfer", take, "")
	ask("staff let the clerk correct her record", staff, "POST "+her+"/transfer", take, "")
	ask("the clerk corrects it", clerk, "PATCH "+her, `{"properties":{"name":"Wambui M."}}`, "")
	ask("the clerk gives her a key", clerk, "PATCH "+her, `{"alsoKnownAs":["`+keyDID(t, "c")+`"]}`, protected)
	ask("the clerk adds a controller", clerk, "PATCH "+her, `{"controllers":["did:ixo:agent/clerk","did:ixo:agent/other"]}`, protected)
	ask("the clerk ends her twin", clerk, "POST "+her+"/transitions", `{"to":"deactivated","reason":"moved"}`, protected)
	ask("staff take her back, for the server too", staff, "POST "+her+"/transfer", `{"controller":"did:ixo:agent/staff"}`, "")
	ask("staff let the line keep her record", staff, "PATCH "+her, `{"controllers":["`+c.did+`","`+p.OracleDID().String()+`","did:ixo:agent/staff"]}`, "")
	ask("the household goes back to the line", staff, "POST "+home+"/transfer", `{"controller":"`+p.OracleDID().String()+`"}`, "")
	p.settleIn(t, c, "Kisii") // the line goes on with her
}
