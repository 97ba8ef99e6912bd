// Runs before the first paint, so that the other theme never flashes. Modules run too late, so this is a script.
try {
  var chosen = localStorage.getItem('capdeck-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch (_) {
  // Without storage the system's theme applies.
}
