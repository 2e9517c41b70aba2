package claim

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const processing = "Evaluates up to 100 claims of types whose mode is auto or hybrid, as the schedule does every minute, and reports for each what happened and why. " +
	"The rubric decides by the facts that people have entered; the server enters none. The server acts for the oracle that verifies a claim, in the name of a controller who has agreed to that and whom the record names; " +
	"it leaves to people any claim that a controller or an author of its rules has a part in, and any claim that the rubric leaves to people."

const consenting = "You agree that the server evaluates claims in your name, as this oracle, of which you are a controller by name: all claims of types whose mode is auto or hybrid, that name the oracle and that it verifies. " +
	"Your consent ends for good when you withdraw it or lose control of the oracle. It does not count while you may not evaluate claims."

// routes adds the routes of the engine to the API.
func (e *Engine) routes(a *web.API) {
	web.Post(a, "/v1/claims:process", e.serveProcess, web.Doc{
		Summary: "Evaluate the claims that are due", Scope: "claims:evaluate", Tag: tag, Description: processing,
	})
	const consent = "/v1/entities/{did}/evaluation-consent"
	web.Post(a, consent, e.serveConsent, web.Doc{
		Summary: "Let the server evaluate in your name", Scope: "claims:evaluate", Tag: tag, Once: true, Description: consenting,
		Codes: []string{"ENTITY_NOT_FOUND", "NOT_AN_ORACLE", "NOT_CONTROLLER", "KEY_RESTRICTED"},
	})
	web.Delete(a, consent, e.serveRetract, web.Doc{
		Summary: "Stop the server evaluating in your name", Scope: "claims:evaluate", Tag: tag, Description: "Without your consent it changes nothing.",
		Codes: []string{"ENTITY_NOT_FOUND", "NOT_AN_ORACLE"},
	})
	web.Get(a, consent, e.serveConsents, web.Doc{
		Summary: "List in whose name the server evaluates as an oracle", Scope: readScope, Tag: tag, Codes: []string{"ENTITY_NOT_FOUND", "NOT_AN_ORACLE"},
	})
	web.Get(a, onePath+"/explanation", e.serveExplain, web.Doc{
		Summary: "Explain the outcome of a claim in words", Scope: readScope, Tag: tag, Codes: []string{"CLAIM_NOT_FOUND"},
		Description: "From the record of the newest evaluation and the rubric of its version: which rule applied, in the words of the protocol, what was missing and how much is approved.",
	})
}

func (e *Engine) serveProcess(ctx context.Context, _ *struct{}) (*api.ProcessedClaims, error) {
	return e.Process(ctx, maxProcessed)
}

// ofOracle names an oracle.
type ofOracle struct {
	DID string `path:"did" doc:"DID of the oracle." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
}

func (e *Engine) serveConsent(ctx context.Context, in *ofOracle) (web.Reply[*api.EvaluationConsents], error) {
	return e.Consent(ctx, in.DID)
}

func (e *Engine) serveRetract(ctx context.Context, in *ofOracle) (web.Reply[*api.EvaluationConsents], error) {
	return e.Retract(ctx, in.DID)
}

func (e *Engine) serveConsents(ctx context.Context, in *ofOracle) (*api.EvaluationConsents, error) {
	return e.Consents(ctx, in.DID)
}

func (e *Engine) serveExplain(ctx context.Context, in *of) (*api.ClaimExplanation, error) {
	return e.Explain(ctx, in.ID)
}
