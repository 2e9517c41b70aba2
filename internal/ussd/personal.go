package ussd

import "github.com/hearth-dmrv/hearth/internal/privacy"

// PartAccount is what certificates count of area C.
const PartAccount = "USSD account"

// Personal says what the tables of area C can hold about a person.
func Personal() []privacy.Table {
	erased := func(columns string) privacy.Rule { return privacy.Erased(PartAccount, columns) }
	return []privacy.Table{
		{Name: "ussd_sessions", Rules: []privacy.Rule{erased("id state")}},
		{Name: "ussd_drafts", Rules: []privacy.Rule{erased("phone state")}},
		{Name: "ussd_calls", Rules: []privacy.Rule{erased("session_id phone gateway status cost network error")}},
		{Name: "ussd_walks", Rules: []privacy.Rule{erased("id session_id phone gateway code pack lang node ending steps")}},
		{Name: "ussd_asks", Rules: []privacy.Rule{erased("id phone account user_did run lang answer")}},
		{Name: "ussd_visits", Rules: []privacy.Rule{privacy.None("counts of a menu, nobody's", "day pack node")}},
		{Name: "ussd_accounts", Rules: []privacy.Rule{
			erased("id ws customer_id name email phone lang did household_did district pin pin_key pin_legacy status twins"),
		}},
		{Name: "ussd_locks", Rules: []privacy.Rule{erased("kind name")}},
		{Name: "ussd_resets", Rules: []privacy.Rule{erased("account code")}},
		{Name: "sms_messages", Rules: []privacy.Rule{erased("id about number recipient body status provider_id error")}},
	}
}
