/**
 * Service worker of @plinth/push. It shows push messages, and opens their address when the user selects one. A page
 * registers it with `push.js`. You may copy both files, or load this file into your own service worker with
 * `importScripts`.
 */

/** Returns the notification of a declarative push message (Push API). */
function notificationOf(data) {
  try {
    const { web_push, notification } = data.json()
    if (web_push === 8030 && typeof notification?.title === 'string') return notification
  } catch {
    // Another sender uses another format.
  }
  return undefined
}

self.addEventListener('push', (event) => {
  const notification = event.data ? notificationOf(event.data) : undefined
  if (notification === undefined) return
  const { title, navigate, data, ...options } = notification
  event.waitUntil(self.registration.showNotification(title, { ...options, data: { ...data, navigate } }))
})

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  // Only pages of this site are opened.
  const url = new URL(event.notification.data?.navigate ?? '/', self.location.origin)
  if (url.origin === self.location.origin) event.waitUntil(openPage(url.href))
})

/** Focuses a page with the address, or opens one. */
async function openPage(href) {
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const page = pages.find(({ url }) => url === href)
  return page === undefined ? self.clients.openWindow(href) : page.focus()
}
