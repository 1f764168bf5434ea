import '@plinth/inbox-element'

// The element knows a semantic route. The site maps it to one of its pages.
document.addEventListener('plinth-open', ({ detail }) => {
  document.querySelector('#route').textContent = detail.targetRoute ?? 'no page'
})
