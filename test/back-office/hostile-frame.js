const hosts = [`http://127.0.0.1:${ports.http}`, location.href.replace(/\/admin\/.*/, '')]
const sockets = hosts.map((host) => host.replace('http', 'ws'))
const soon = (milliseconds = 300) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const ended = (target, good, bad) =>
  new Promise((resolve, reject) => {
    target.addEventListener(good, () => resolve(good))
    target.addEventListener(bad, () => reject(new Error(bad)))
  })
/** This text would end the script, so it must not be in it. */
const scriptEnd = ['</', 'script>'].join('')
/** Resolves if one of the attempts succeeds. */
const any = (list, attempt) => Promise.any(list.map(async (one) => attempt(one)))
const loaded = (name, members) => {
  const made = Object.assign(document.createElement(name), members)
  const result = ended(made, 'load', 'error')
  document.body.append(made)
  return result
}
const nested = (members) => {
  const made = Object.assign(document.createElement('iframe'), members)
  document.body.append(made)
  return made
}
const peer = (Peer) => {
  const connection = new Peer({ iceServers: [{ urls: `stun:127.0.0.1:${ports.udp}` }] })
  connection.createDataChannel('out')
  return connection.createOffer().then((offer) => connection.setLocalDescription(offer))
}

/** Each attack must throw. */
globalThis.attacks = {
  cookie: () => document.cookie,
  setCookie: () => Object.assign(document, { cookie: 'left=1' }),
  localStorage: () => localStorage.setItem('left', '1'),
  sessionStorage: () => sessionStorage.length,
  indexedDB: () => ended(indexedDB.open('left'), 'success', 'error'),
  caches: () => caches.open('left'),
  serviceWorker: () => navigator.serviceWorker.register('/probe'),
  parentDocument: () => parent.document.body,
  topDocument: () => top.document.cookie,
  parentFrames: () => [...parent.frames].map((one) => one.document),
  frameElement: () => frameElement.ownerDocument,
  fetch: () => any(hosts, (host) => fetch(`${host}/probe`, { mode: 'no-cors', credentials: 'include' })),
  xhr: () =>
    any(hosts, (host) => {
      const request = new XMLHttpRequest()
      request.open('POST', `${host}/probe`)
      const result = ended(request, 'load', 'error')
      request.send('out')
      return result
    }),
  webSocket: () => any(sockets, (host) => ended(new WebSocket(`${host}/probe`), 'open', 'error')),
  eventSource: () => any(hosts, (host) => ended(new EventSource(`${host}/probe`), 'open', 'error')),
  webTransport: () => new WebTransport(hosts[0].replace('http', 'https')).ready,
  image: () => any(hosts, (host) => loaded('img', { src: `${host}/probe` })),
  script: () => any(hosts, (host) => loaded('script', { src: `${host}/probe` })),
  inlineScript: () =>
    new Promise((resolve, reject) => {
      globalThis.ran = resolve
      document.body.append(Object.assign(document.createElement('script'), { textContent: 'ran()' }))
      soon().then(() => reject(new Error('blocked')))
    }),
  textAsCode: () => [].constructor.constructor('return 1')(),
  style: () => any(hosts, (host) => loaded('link', { rel: 'stylesheet', href: `${host}/probe` })),
  prefetch: () => any(hosts, (host) => loaded('link', { rel: 'prefetch', href: `${host}/probe` })),
  worker: () => {
    const code = URL.createObjectURL(new Blob(['postMessage(1)']))
    return ended(new Worker(code), 'message', 'error')
  },
  font: () => any(hosts, (host) => new FontFace('out', `url(${host}/probe)`).load()),
  peer: () => peer(RTCPeerConnection),
  nestedPeer: () => peer(nested({}).contentWindow.RTCPeerConnection),
  topLocation: () => (top.location = `${hosts[0]}/probe`),
  topLocationOfHost: () => top.location.replace(`${hosts[1]}/probe`),
  open: () => {
    const opened = window.open(`${hosts[0]}/probe`)
    if (opened === null) throw new Error('blocked')
  },
  alert: () => {
    if (!confirm('Your password?')) throw new Error('blocked')
  },
  notDeclared: () => plinth.call('deleteHostileThing', { params: { id: 1 } }),
  inherited: () => plinth.call('constructor', {}),
  otherPath: () => plinth.call('getHostileThing', { params: { id: '..' } }),
  emptyPath: () => plinth.call('getHostileThing', { params: { id: '' } }),
  missingPath: () => plinth.call('getHostileThing'),
  otherParameter: () => plinth.call('getHostileThings', { query: { admin: true } }),
  objectParameter: () => plinth.call('getHostileThing', { params: { id: {} } }),
  brokenText: () => plinth.call('getHostileThing', { params: { id: '\ud800' } }),
  wrongType: () => plinth.call('getHostileThing', { params: { id: 'one' } }),
  otherMember: () => plinth.call('putHostileThing', { params: { id: 1 }, body: { name: 'x', isAdmin: true } }),
}

/** Attacks that do not throw. They must have no effect. */
globalThis.silent = {
  beacon: () => hosts.map((host) => navigator.sendBeacon(`${host}/probe`, 'out')),
  form: () => {
    for (const action of hosts) {
      const form = Object.assign(document.createElement('form'), { method: 'post', action: `${action}/probe` })
      document.body.append(form)
      form.submit()
    }
  },
  formToTop: () => {
    const form = Object.assign(document.createElement('form'), { action: `${hosts[1]}/probe`, target: '_top' })
    document.body.append(form)
    form.submit()
  },
  link: () => {
    for (const target of ['_top', '_blank', '_parent'])
      Object.assign(document.createElement('a'), { href: `${hosts[0]}/probe`, target }).click()
  },
  ping: () => {
    const made = Object.assign(document.createElement('a'), { href: '#', ping: `${hosts[0]}/probe` })
    document.body.append(made)
    made.click()
  },
  styleImage: () => {
    for (const host of hosts)
      document.body.append(Object.assign(document.createElement('div'), { style: `background: url(${host}/probe)` }))
  },
  preconnect: () => {
    for (const rel of ['preconnect', 'dns-prefetch', 'preload', 'modulepreload', 'prerender'])
      document.head.append(
        Object.assign(document.createElement('link'), { rel, href: `${hosts[0]}/probe`, as: 'image' }),
      )
  },
  refresh: () => {
    const made = document.createElement('meta')
    made.httpEquiv = 'Content-Security-Policy'
    made.content = 'default-src *'
    document.head.append(made)
  },
  nestedFrames: () => {
    for (const host of hosts) nested({ src: `${host}/probe` })
    nested({ srcdoc: `<img src="${hosts[0]}/probe"><script>${document.scripts[0].textContent}${scriptEnd}` })
    nested({
      srcdoc: `<script>new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${ports.udp}' }] })${scriptEnd}`,
    })
  },
  messages: () => {
    for (const target of [parent, top, ...Array.from({ length: parent.length }, (_, index) => parent[index])])
      target.postMessage({ type: 'call', id: 1, operation: 'deleteHostileThing', params: { id: 1 } }, '*')
  },
}

/** Attacks that lead the frame to another document. The back office then stops the page. */
globalThis.departures = {
  otherHost: () => (location.href = `${hosts[0]}/probe`),
  otherPath: () => (location.href = `${hosts[1]}/probe?secret=1`),
  operation: () => (location.href = `${hosts[1]}/api/v1/admin/hostile/things`),
  otherFrame: () => (location.href = 'acme.depot-cities'),
  data: () => (location.href = 'data:text/html,<p>out'),
  download: () => Object.assign(document.createElement('a'), { href: `${hosts[1]}/probe`, download: 'x' }).click(),
}

/** Runs an attack, and returns what it has achieved. */
globalThis.attempt = async (name) => {
  // A browser does not apply its rules about `eval` to the call of a test.
  await soon(0)
  try {
    const late = soon(5_000).then(() => Promise.reject(new Error('no result')))
    return `succeeded: ${String(await Promise.race([attacks[name](), late]))}`
  } catch (error) {
    return typeof error.code === 'string' ? error.code : error.message === 'no result' ? 'no result' : error.name
  }
}

/** Calls an operation, and returns its result or its error. */
globalThis.result = (operation, request) => plinth.call(operation, request).catch((error) => error)

/** The port of the back office, for messages that the client would not send. */
globalThis.port = new Promise((resolve) => {
  addEventListener('message', ({ ports: [received] }) => resolve(received))
})
