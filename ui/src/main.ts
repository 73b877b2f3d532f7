import { mount } from "svelte";
import App from "./App.svelte";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/terminal.css";
import { applyTheme } from "./state/theme.svelte";

applyTheme();
mount(App, { target: document.getElementById("app")! });
