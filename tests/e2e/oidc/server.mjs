/** A real OpenID Connect server for tests: prints its address, reads the one of its client, then serves. */
import http from "node:http";
import readline from "node:readline";
import { Provider } from "oidc-provider";

const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  console.log(issuer);
  readline.createInterface({ input: process.stdin }).once("line", (redirectUri) => {
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: "holter",
          client_secret: "a secret: with + signs & so on",
          redirect_uris: [redirectUri],
          grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
          response_types: ["code"],
        },
      ],
      claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email"] },
      conformIdTokenClaims: false,
      cookies: { keys: ["for tests"] },
      features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true } },
      // Everybody likes to be called the same: a name proves nothing.
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: "Ann Lee", email: "ann@example.org" }) }),
      pkce: { required: () => true },
      ttl: { DeviceCode: 600 },
    });
    server.on("request", provider.callback());
    console.log("ready");
  });
});
