package lookup

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// claimTools are those about claims.
var claimTools = []lookupTool{
	{
		name: "explain_claim", scope: "claims:read", do: explainClaim,
		about: "Tell from the record what became of a claim and why: its status, the reason in words, and of its newest evaluation the outcome, rule, reason code, facts, amount, evaluator and protocol. " +
			"Give no reason that the record does not give.",
		schema: object + `"required":["claim"],"properties":{"claim":` + text + `,"description":"DID or CID of the claim."}}}`,
		output: given + `"required":["claim","status","words"],"properties":{"claim":{"type":"string"},"status":{"type":"string"},"words":{"type":"string"},"evaluation":{"type":"object"}}}`,
	},
}

func explainClaim(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in struct {
		Claim string `json:"claim"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return s.ExplainClaim(ctx, in.Claim)
}
