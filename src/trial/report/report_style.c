/* What a trial's page adds to the style of all pages, and its script. The policy allows the script
 * by its hash, so it stays one constant: nothing is ever put into it. It searches the list of
 * problems, and opens what a link names. */
#include "trial/report/report_page.h"

const char tr_page_style[] =
    "a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}"
    ".two{display:flex;min-width:140px}.bar.two i{border-radius:0}"
    ".bar.two i.f{background:repeating-linear-gradient(135deg,var(--bad) 0 3px,transparent 3px "
    "6px)}"
    ".graph{width:32%}.who{overflow-wrap:anywhere;min-width:110px}"
    ".tools{display:flex;gap:12px;align-items:center;margin:0 0 8px}"
    ".tools input{flex:0 1 320px;min-width:0;font:inherit;font-size:14px;padding:6px 10px;"
    "color:inherit;background:var(--bg);border:1px solid var(--line);border-radius:8px}"
    ".facts{display:flex;flex-wrap:wrap;gap:2px 20px;font-size:13.5px;margin:4px 0 10px}"
    ".facts span{color:var(--mute)}"
    ".best td{background:color-mix(in srgb,var(--good) 9%,transparent)}"
    ".line{margin:4px 0}details details{border:0}"
    "figure.wide{max-width:900px;margin:0 0 18px}"
    "td.msg{min-width:300px;overflow-wrap:anywhere}"
    ".said{border-left:3px solid var(--line);padding-left:12px}"
    ".scroll td:first-child{white-space:nowrap}.scroll td.who{white-space:normal}"
    ".levels td i{display:block}#list td.mute{white-space:nowrap}"
    "@media(max-width:760px){.extra,.levels th:nth-child(2),.levels td:nth-child(2){display:none}"
    ".levels th,.levels td{padding-right:8px}#list td i{display:block}#list .who{min-width:0}"
    ".graph{width:20%}.bar.two{min-width:60px}.tiles{grid-template-columns:repeat(auto-fit,minmax("
    "150px,1fr))}"
    ".who{min-width:150px}}"
    ".charts+.scroll{margin-top:14px}"
    "@media print{.tools{display:none}}";

const char tr_page_script[] =
    "'use strict';(()=>{"
    "const q=document.getElementById('q'),list=document.getElementById('list');"
    "if(q&&list){const all=[...list.tBodies[0].rows],shown=document.getElementById('shown');"
    "q.addEventListener('input',()=>{const words=q.value.toLowerCase().split(/\\s+/);let n=0;"
    "for(const e of all){const text=e.textContent.toLowerCase();"
    "const hit=words.every(w=>text.includes(w));e.hidden=!hit;n+=hit}"
    "shown.textContent=n+' of '+all.length+' problems'})}"
    "const open=()=>{const e=/^#[pr]\\d+$/.test(location.hash)&&"
    "document.getElementById(location.hash.slice(1));"
    "for(let d=e;d;d=d.parentElement)if(d.tagName==='DETAILS')d.open=true;"
    "if(e)e.scrollIntoView()};"
    "addEventListener('hashchange',open);open()})()";
