// Starts the viewer on the document of this server. A key typed into
// "Authorize" stays in this browser tab.
window.ui = SwaggerUIBundle({
  url: "/docs-json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: "BaseLayout",
});
