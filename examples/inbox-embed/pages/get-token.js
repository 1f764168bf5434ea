/** Returns a token of the signed-in user. The back end of the site creates it. */
export async function getToken() {
  const response = await fetch('/inbox-token', { method: 'POST' })
  if (!response.ok) throw new Error(`No token: ${response.status}`)
  return response.json()
}
