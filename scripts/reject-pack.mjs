// npm runs this script before `npm pack` and `npm publish` in a workspace, where the manifests refer to the sources.
console.error('Run `npm run stage` in the repository. Then pack or publish the package in .build/packages.')
process.exitCode = 1
