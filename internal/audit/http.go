package audit

import (
	"context"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	tag                 = "reports"
	auditing  web.Scope = "audit:read"
	base                = "/v1/reports"
	one                 = base + "/{reportId}"
	aboutMake           = "One signed archive (zip) about a project, as a job: the responses of its surveys with made-up names, codebooks, sampling, draws with seeds and frames, figures and what they come from, the rubrics, " +
		"claims, evaluations, credentials, status lists, and the hashes of revisions. manifest.json has the SHA-256 of each file and is signed by the oracle. `hearth audit verify` checks it without a server and makes every figure again. " +
		"Nothing in it is sealed or names a person, whoever asks. You need the scopes that the role auditor reads with."
)

// Routes adds bundles to the API.
func (s *Service) Routes(a *web.API) {
	web.Post(a, base, s.serveCreate, web.Doc{
		Summary: "Make a bundle for auditors", Status: http.StatusAccepted, Scope: auditing, Tag: tag, Once: true, Description: aboutMake,
		Example: api.AuditReportDraft{Project: "did:ixo:entity:175d7824ba25002e4ec206365e206236"},
		Codes:   []string{"REPORT_INVALID", "REPORT_NEEDS_ORACLE", "ENTITY_NOT_FOUND", "SCOPE_MISSING", "TOO_MANY_FILES"},
	})
	web.Get(a, base, s.serveList, web.Doc{Summary: "List bundles for auditors, newest first", Scope: auditing, Tag: tag, Description: exchange.AboutList, Codes: []string{"INVALID_PARAMETER", "INVALID_CURSOR"}})
	web.Get(a, one, s.serveGet, web.Doc{Summary: "Read the progress of a bundle", Scope: auditing, Tag: tag, Codes: []string{"REPORT_NOT_FOUND"}})
	web.Get(a, "/v1/claims/{claimId}/evidence", s.serveEvidence, web.Doc{
		Summary: "Look up the evidence of a claim", Scope: "claims:read", Tag: "claims", Codes: []string{"CLAIM_NOT_FOUND"},
		Description: "Each piece that names something of this server is looked up now, in the state that it names, and compared with the hash in the document. A caller who may not read the record learns only that.",
	})
	web.Get(a, "/v1/claims/{claimId}/chain", s.serveChain, web.Doc{
		Summary: "Walk from the credential of a claim to its evidence", Scope: "claims:read", Tag: "claims", Codes: []string{"CLAIM_NOT_FOUND"},
		Description: "The server verifies the credential, makes every evaluation again, computes the CID and looks up each piece of evidence. A step that your key may not read, or that takes long, is reported as unchecked.",
	})
	a.Handle(http.MethodGet, one+"/file", s.serveFile, web.Doc{
		Summary: "Download a bundle", Scope: auditing, Tag: tag, Produces: "application/zip", Description: exchange.AboutFile, Codes: []string{"REPORT_NOT_FOUND", "EXPORT_NOT_READY", "EXPORT_EXPIRED", "SCOPE_MISSING"},
	})
}

// of names a claim.
type of struct {
	ID string `path:"claimId" doc:"DID or CID of the claim." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
}

func (s *Service) serveEvidence(ctx context.Context, in *of) (api.ClaimEvidenceList, error) {
	return s.Evidence(ctx, in.ID)
}

func (s *Service) serveChain(ctx context.Context, in *of) (api.ClaimChain, error) {
	return s.Chain(ctx, in.ID)
}

func (s *Service) serveCreate(ctx context.Context, in *struct{ Body api.AuditReportDraft }) (web.Reply[job.Job], error) {
	return s.Create(ctx, in.Body)
}

type oneIn struct {
	ID string `path:"reportId" doc:"Id of the report, and of its job."`
}

func (s *Service) serveList(ctx context.Context, in *struct{ exchange.ListQuery }) (web.Reply[web.Page[api.AuditReport]], error) {
	of := exchange.Listing{Kind: kindReport, Cursors: s.cfg.Cursors}
	return exchange.List(ctx, s.cfg.Exchange, of, &in.ListQuery, func(l exchange.Listed) (api.AuditReport, error) {
		out, _, err := shown(ctx, l)
		return out, err
	})
}

// shown is a bundle as its readers see it.
func shown(ctx context.Context, l exchange.Listed) (api.AuditReport, *file.File, error) {
	var d settings
	var n result
	if err := l.Read(&d, &n); err != nil {
		return api.AuditReport{}, nil, err
	}
	j := l.Of
	out := api.AuditReport{
		ID: l.Job, Project: d.Project, Oracle: d.Oracle, Issuer: n.Issuer, Status: string(j.Status), Files: n.Files, Bytes: n.Bytes, SHA256: n.SHA256, CreatedBy: j.CreatedBy,
		CreatedAt: j.CreatedAt, FinishedAt: j.FinishedAt, ExpiresAt: l.Until, Links: api.AuditReportLinks{Self: base + "/" + l.Job, Job: job.Path(l.Job)},
	}
	for _, e := range j.Errors {
		out.Errors = append(out.Errors, api.JobError(e))
	}
	if l.File != nil && exchange.MayAll(ctx, scopes...) == nil {
		out.Links.File = out.Links.Self + "/file"
	}
	return out, l.File, nil
}

// look reads a bundle the caller may know, and its file; nil when there is none to
// read. Fault: REPORT_NOT_FOUND.
func (s *Service) look(ctx context.Context, id string) (api.AuditReport, *file.File, job.Status, error) {
	j, o, err := s.cfg.Exchange.Look(ctx, kindReport, id)
	if err != nil {
		return api.AuditReport{}, nil, "", err
	}
	if o == nil {
		return api.AuditReport{}, nil, "", notFound()
	}
	l := exchange.Listed{Order: o, Of: j}
	if l.File, l.Until, err = s.cfg.Exchange.File(ctx, o, j.Status); err != nil {
		return api.AuditReport{}, nil, "", err
	}
	out, f, err := shown(ctx, l)
	if err == nil && !web.CallerFrom(ctx).Sees(out.Project) {
		err = notFound()
	}
	return out, f, j.Status, err
}

func (s *Service) serveGet(ctx context.Context, in *oneIn) (api.AuditReport, error) {
	out, _, _, err := s.look(ctx, in.ID)
	return out, err
}

func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[oneIn](r)
	if err != nil {
		return err
	}
	out, f, status, err := s.look(r.Context(), in.ID)
	if err != nil {
		return err
	}
	if err := exchange.MayAll(r.Context(), scopes...); err != nil {
		return err
	}
	return s.cfg.Exchange.Send(w, r, exchange.Download{Status: status, File: f, MediaType: "application/zip", Name: "audit-" + out.CreatedAt.UTC().Format(time.DateOnly) + "-" + out.ID + ".zip"})
}
