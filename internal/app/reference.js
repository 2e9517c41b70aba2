// Starts the viewer on the document of this server. A key typed into
// "Authorize" stays in this browser tab.
//
// The path of an operation is a link inside a button, which keyboards and screen
// readers cannot use: it is shown as text. Opening the operation still puts its
// address into the address bar.
//
// The tags are headings of the third level; the second one is added.
const forEveryone = {
  wrapComponents: {
    DeepLink: (_, { React }) => ({ text }) => React.createElement("span", null, text),
    ServersContainer: () => () => null, // there is one server, this one
    operations: (Operations, { React }) => (props) =>
      React.createElement("section", null, React.createElement("h2", null, "Operations"), React.createElement(Operations, props)),
  },
};
window.ui = SwaggerUIBundle({
  url: "/docs-json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  filter: true,
  docExpansion: "none", // hundreds of operations at once take seconds to draw
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  plugins: [forEveryone],
  layout: "BaseLayout",
});
