var e=class{rest=``;push(e){this.rest+=e.replaceAll(`\r
`,`
`);let t=this.rest.split(`

`);return this.rest=t.pop()??``,t.flatMap(e=>{let t=e.split(`
`).filter(e=>e&&!e.startsWith(`:`));if(!t.length)return[];let n=e=>t.filter(t=>t.startsWith(`${e}:`)).map(t=>t.slice(e.length+1).replace(/^ /,``));return[{event:n(`event`).at(-1)??`message`,data:n(`data`).join(`
`)}]})}};async function*t(t){let n=new e,r=t.body.pipeThrough(new TextDecoderStream).getReader();try{for(;;){let{done:e,value:t}=await r.read();if(e)return;yield*n.push(t)}}finally{r.cancel().catch(()=>{})}}export{t};