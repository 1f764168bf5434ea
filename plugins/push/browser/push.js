/**
 * Subscribes a browser to push messages of @plinth/push. Browsers need a secure context (https, or localhost).
 *
 * @example
 * import { enablePush } from '/api/v1/push/browser/push.js'
 * button.onclick = () => enablePush({ headers: () => ({ authorization: `Bearer ${token}` }) })
 */

/**
 * @typedef {object} PushOptions
 * @property {() => Record<string, string>} [headers] headers that sign in the user; not needed with a session cookie
 * @property {string} [api] address of the API; default: the folder from which this script was loaded
 * @property {string} [worker] address of the service worker on this site; default: beside this script
 * @property {string} [label] name of the device in the list of the user
 */

const policy = globalThis.trustedTypes?.createPolicy('plinth-push', { createScriptURL: (url) => url })

/** True if this browser supports push messages. On iOS, only for a web app on the home screen. */
export const isSupported = () =>
  'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis

/**
 * Asks the user for permission and registers this browser. Call it from a click.
 *
 * @param {PushOptions} [options]
 * @returns {Promise<boolean>} false if the browser or the user does not allow push messages
 */
export async function enablePush(options = {}) {
  if (!isSupported() || (await Notification.requestPermission()) !== 'granted') return false
  await register(await workerOf(options), options)
  return true
}

/**
 * Registers this browser again. Call it at each start of the page: browsers replace subscriptions, and the product ends
 * those that are not registered again. Does nothing if the user has not enabled push messages.
 *
 * @param {PushOptions} [options]
 */
export async function refreshPush(options = {}) {
  if (!isSupported() || Notification.permission !== 'granted') return
  const registration = await workerOf(options)
  if (await registration.pushManager.getSubscription()) await register(registration, options)
}

/**
 * Ends push messages in this browser. Call it before the user signs out.
 *
 * @param {PushOptions} [options]
 */
export async function disablePush(options = {}) {
  if (!isSupported()) return
  const registration = await workerOf(options)
  const subscription = await registration.pushManager.getSubscription()
  if (!subscription) return
  const { id } = await call(options, 'POST', 'devices/web-push', bodyOf(subscription, options))
  await call(options, 'DELETE', `devices/${id}`)
  await subscription.unsubscribe()
}

async function workerOf({ worker = new URL('service-worker.js', import.meta.url).href }) {
  const registration = await navigator.serviceWorker.register(policy?.createScriptURL(worker) ?? worker)
  const candidate = registration.active ?? registration.waiting ?? registration.installing
  if (candidate !== null && candidate.state !== 'activated')
    await new Promise((resolve, reject) => {
      candidate.addEventListener('statechange', () => {
        if (candidate.state === 'activated') resolve()
        if (candidate.state === 'redundant') reject(new Error('The service worker was not installed'))
      })
    })
  return registration
}

async function register(registration, options) {
  const { publicKey } = await call(options, 'GET', 'web-push/public-key')
  let subscription = await registration.pushManager.getSubscription()
  const key = subscription?.options.applicationServerKey
  if (key && base64url(key) !== publicKey) {
    // The product has a new key, so the old subscription receives nothing any more.
    await subscription.unsubscribe()
    subscription = null
  }
  subscription ??= await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey })
  return call(options, 'POST', 'devices/web-push', bodyOf(subscription, options))
}

function bodyOf(subscription, { label }) {
  const { endpoint, keys } = subscription.toJSON()
  return { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth }, ...(label && { label }) }
}

const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

async function call({ api = new URL('..', import.meta.url).href, headers }, method, path, body) {
  const response = await fetch(new URL(path, api.endsWith('/') ? api : `${api}/`), {
    method,
    headers: { ...headers?.(), ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const { code, message, data } = await response.json()
  if (code !== '200') throw new Error(`${path}: ${code} ${message}`)
  return data
}
