package verify

import "github.com/hearth-dmrv/hearth/internal/survey/response"

// Decide is the rule without a store.
var Decide = decide

// Row is a response that ann has collected and sam has sent.
func Row(state, status string, reviews int64, verifier string) *response.Row {
	return &response.Row{
		VStatus: state, Status: response.Status(status), Reviews: reviews, Verifier: verifier, Collector: "did:key:ann", Sender: "did:key:sam", Revision: 1,
	}
}

// Allowed returns the states to which a decision may move a response.
func Allowed(from string) []string { return moves[from] }
