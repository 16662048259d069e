import { mount } from "svelte";
import "./shell/base.css";
import App from "./shell/App.svelte";

mount(App, { target: document.getElementById("app")! });
